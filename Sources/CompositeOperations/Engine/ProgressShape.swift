/// How a composition computes its progress from that of its children.
enum ProgressShape: Equatable {
  /// This many children, all of which must finish.
  case parallel(count: Int)
  /// One child after the other; nil if the total is unknown.
  case steps(Int?)
  /// One child after the other, with weights known in advance.
  case weighted(StepWeights)
  /// Each child stands for the whole work: the last one that gets further than those before counts.
  /// Delays and other preparations are ignored: see ``Composition/work(standingFor:)``.
  case inner
  /// The driver counts what is done; nil if unknown.
  case driven((done: Int, total: Int)?)

  static func == (left: ProgressShape, right: ProgressShape) -> Bool {
    switch (left, right) {
    case (.parallel(let left), .parallel(let right)): left == right
    case (.steps(let left), .steps(let right)): left == right
    case (.weighted(let left), .weighted(let right)): left == right
    case (.inner, .inner): true
    case (.driven(let left), .driven(let right)): left?.done == right?.done && left?.total == right?.total
    case (.parallel, _), (.steps, _), (.weighted, _), (.inner, _), (.driven, _): false
    }
  }
}

/// The weights of steps that run one after the other.
struct StepWeights: Equatable {
  /// The sum of the weights before each step, and of all.
  private let sums: [Double]

  init(_ weights: [Double]) {
    // The sum of large weights would be infinite. A power of two, which changes no ratio.
    let scale = max(1, (weights.max() ?? 1).binade)
    var sums = [0.0]
    sums.reserveCapacity(weights.count + 1)
    for weight in weights { sums.append(sums[sums.count - 1] + weight / scale) }
    self.sums = sums
  }

  var count: Int { sums.count - 1 }

  /// The fraction done when `count` steps have begun and `fraction` of the last is done. Nil if all
  /// weights are 0.
  func fraction(begun count: Int, last fraction: Double) -> Double? {
    guard let total = sums.last, total > 0 else { return nil }
    guard count > 0, count < sums.count else { return count == 0 ? 0 : 1 }
    let (before, after) = (sums[count - 1], sums[count])
    return (before + (after - before) * fraction) / total
  }
}
