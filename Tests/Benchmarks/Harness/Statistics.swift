/// A set of samples of one quantity.
struct Samples: Sendable {
  /// The samples in ascending order.
  let sorted: [Double]

  init(_ samples: [Double]) {
    precondition(!samples.isEmpty, "statistics need at least one sample")
    sorted = samples.sorted()
  }

  /// The middle sample, or the mean of the two middle ones.
  var median: Double { quantile(0.5) }

  /// The quarter below which the lowest samples lie.
  var lowerQuartile: Double { quantile(0.25) }

  /// The quarter above which the highest samples lie.
  var upperQuartile: Double { quantile(0.75) }

  /// The value below which `fraction` of the samples lie, interpolated between neighbours.
  func quantile(_ fraction: Double) -> Double {
    let position = fraction * Double(sorted.count - 1)
    let below = Int(position)
    let above = min(below + 1, sorted.count - 1)
    return sorted[below] + (sorted[above] - sorted[below]) * (position - Double(below))
  }
}
