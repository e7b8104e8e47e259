/// How the progress of a composition follows from that of its children.
enum ProgressShape: Equatable {
  /// So many children, all of which are wanted.
  case parallel(count: Int)
  /// One child after the other, so many in all; nil if that is not known.
  case steps(Int?)
  /// One child after the other, of which it is known beforehand what each of them weighs.
  case weighted(StepWeights)
  /// Whatever child there is does the whole work: the last one that gets further than those before. Delays are not told,
  /// and what else only comes before the work: see ``WorkSource/work(standingFor:)``.
  case inner
  /// Somebody else counts what is done; nil if that is not known.
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

/// What steps weigh that come one after the other.
struct StepWeights: Equatable {
  /// What those before each step weigh together, and what all do.
  private let sums: [Double]

  init(_ weights: [Double]) {
    var sums = [0.0]
    sums.reserveCapacity(weights.count + 1)
    for weight in weights { sums.append(sums[sums.count - 1] + weight) }
    self.sums = sums
  }

  var count: Int { sums.count - 1 }

  /// How far it is when so many steps have begun, and this part of the last of them is done. Nil if none weighs anything.
  func fraction(begun count: Int, last fraction: Double) -> Double? {
    guard let total = sums.last, total > 0 else { return nil }
    guard count > 0, count < sums.count else { return count == 0 ? 0 : 1 }
    let (before, after) = (sums[count - 1], sums[count])
    return (before + (after - before) * fraction) / total
  }
}
