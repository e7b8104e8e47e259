/// How far an operation is: what it reports, or what follows from its children.
///
/// Children are told by their tags, and everything may be told twice or out of order: a fraction that is not further than
/// the one before, or a child that has settled, changes nothing. So whoever starts to look at a composition that is running
/// can look at its children while these tell how they get on.
struct ProgressState {
  struct Child {
    var weight = 1.0
    var fraction = 0.0
    var isSettled = false
  }

  /// Never goes back.
  private(set) var fraction = 0.0
  private(set) var shape: ProgressShape?
  /// Whether the children that there were at first have been looked at. Until then nothing follows from them.
  private(set) var isComplete: Bool
  private(set) var isEnded = false
  /// Whether it has ended otherwise than with a success.
  private(set) var endsUnsuccessfully = false
  private var hasReported = false

  /// The children of a parallel composition, by tag.
  private var children: [Child] = []
  /// What all of them, or all that have been seen, weigh.
  private var totalWeight = 0.0
  /// The same for the parts of them that are done.
  private var doneWeight = 0.0
  /// How many children have been seen, where one comes after the other.
  private var seenCount = 0
  /// The last of them.
  private var current = Child(weight: 0, isSettled: true)
  /// The fractions of driven operations that are under way.
  private var running: [Int: Double] = [:]
  /// Those that have settled before the first look was over.
  private var settledEarly: Set<Int> = []

  /// - Parameter shape: nil for an operation without children.
  init(shape: ProgressShape?) {
    self.shape = shape
    isComplete = shape == nil
    if case .parallel(let count) = shape {
      children = [Child](repeating: Child(), count: count)
      totalWeight = Double(count)
    }
  }

  /// Whether nobody knows how far it is.
  var isIndeterminate: Bool {
    if isEnded { return false }
    switch shape {
    case nil: return !hasReported
    case .parallel: return false
    case .steps(let count): return count == nil
    case .weighted: return false
    case .inner: return fraction == 0
    case .driven(let counts): return counts == nil
    }
  }

  /// The tag of the child that does the whole work at this time, or did last.
  var innerTag: Int? { shape == .inner ? seenCount : nil }

  // MARK: - Inputs
  // Each returns whether anything has changed that can be seen from outside.

  /// An operation without children tells how far it is.
  mutating func report(_ reported: Double) -> Bool {
    guard shape == nil, !isEnded else { return false }
    let isFirst = !hasReported
    hasReported = true
    return rise(to: reported) || isFirst
  }

  /// All children have been looked at.
  mutating func complete() -> Bool {
    isComplete = true
    settledEarly = []
    // Anew: changing a weight of 1 to one that is much smaller leaves nothing but errors of rounding.
    if case .parallel = shape {
      totalWeight = children.reduce(0) { $0 + $1.weight }
      doneWeight = children.reduce(0) { $0 + $1.weight * $1.fraction }
    }
    return update()
  }

  mutating func changeShape(_ shape: ProgressShape) -> Bool {
    guard !isEnded, self.shape != shape else { return false }
    let wasIndeterminate = isIndeterminate
    self.shape = shape
    return update() || isIndeterminate != wasIndeterminate
  }

  /// There is a child, of this weight.
  mutating func added(_ tag: Int, weight: Double) -> Bool {
    guard !isEnded else { return false }
    switch shape {
    case .parallel:
      guard children.indices.contains(tag) else { return false }
      let difference = weight - children[tag].weight
      guard difference != 0 else { return false }
      children[tag].weight = weight
      totalWeight += difference
      doneWeight += difference * children[tag].fraction
    case .steps, .weighted, .inner:
      guard tag > seenCount else { return false }
      pass(tag - 1)
      totalWeight += weight
      seenCount = tag
      current = Child(weight: weight)
    case .driven, nil:
      return false
    }
    return update()
  }

  /// So many children have been there, one after the other.
  mutating func passed(_ count: Int) -> Bool {
    guard !isEnded, count > seenCount else { return false }
    pass(count)
    return update()
  }

  /// The children up to this one are over. Of those that were not seen only their number is known.
  private mutating func pass(_ count: Int) {
    doneWeight += current.weight * current.fraction + Double(count - seenCount)
    totalWeight += Double(count - seenCount)
    seenCount = count
    // Where one does the whole work, those before it may have failed, or have only prepared it.
    current = Child(weight: 0, fraction: shape == .inner ? 0 : 1, isSettled: true)
  }

  /// A child has come this far.
  mutating func advanced(_ tag: Int, to fraction: Double) -> Bool {
    guard !isEnded else { return false }
    switch shape {
    case .parallel:
      guard children.indices.contains(tag), !children[tag].isSettled, fraction > children[tag].fraction else {
        return false
      }
      doneWeight += children[tag].weight * (fraction - children[tag].fraction)
      children[tag].fraction = fraction
    case .steps, .weighted, .inner:
      guard tag == seenCount, !current.isSettled, fraction > current.fraction else { return false }
      current.fraction = fraction
    case .driven:
      guard !settledEarly.contains(tag), fraction > running[tag, default: -1] else { return false }
      running[tag] = fraction
    case nil:
      return false
    }
    return update()
  }

  /// A child has settled. One that was cancelled is as far as it had come.
  mutating func settled(_ tag: Int, as ending: OperationState.Ending) -> Bool {
    guard !isEnded else { return false }
    switch shape {
    case .parallel:
      guard children.indices.contains(tag), !children[tag].isSettled else { return false }
      let changed = ending != .cancelled && advanced(tag, to: 1)
      children[tag].isSettled = true
      return changed
    case .steps, .weighted, .inner:
      if tag > seenCount { _ = added(tag, weight: 1) }
      guard tag == seenCount, !current.isSettled else { return false }
      // The failure of the one that does the whole work is not the end of it.
      let counts = shape == .inner ? ending == .success : ending != .cancelled
      let changed = counts && advanced(tag, to: 1)
      current.isSettled = true
      return changed
    case .driven:
      if !isComplete { settledEarly.insert(tag) }
      running[tag] = nil
      return update()
    case nil:
      return false
    }
  }

  /// The operation has settled: nothing changes any more, except that it is complete if it succeeded.
  mutating func end(succeeded: Bool) -> Bool {
    guard !isEnded else { return false }
    isEnded = true
    children = []
    running = [:]
    endsUnsuccessfully = !succeeded
    if succeeded { fraction = 1 }
    return true
  }

  // MARK: - What follows

  private mutating func rise(to fraction: Double) -> Bool {
    let fraction = min(fraction, 1)
    guard fraction > self.fraction else { return false }
    self.fraction = fraction
    return true
  }

  private mutating func update() -> Bool {
    guard isComplete, !isEnded else { return false }
    switch shape {
    case .parallel:
      return totalWeight > 0 && rise(to: doneWeight / totalWeight)
    case .steps(let count?):
      let done = doneWeight + current.weight * current.fraction
      let total = totalWeight + Double(max(0, count - seenCount))
      return total > 0 && rise(to: done / total)
    case .steps(nil):
      return false
    case .weighted(let weights):
      return weights.fraction(begun: seenCount, last: current.fraction).map { rise(to: $0) } ?? false
    case .inner:
      return rise(to: current.fraction)
    case .driven(let counts?):
      guard counts.total > 0 else { return false }
      return rise(to: (Double(counts.done) + running.values.reduce(0, +)) / Double(counts.total))
    case .driven(nil), nil:
      return false
    }
  }
}
