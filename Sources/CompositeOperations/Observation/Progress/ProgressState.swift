/// The progress of an operation, reported by itself or computed from its children.
///
/// Children are identified by their tags. Inputs may be repeated or arrive out of order. A fraction
/// has no effect if it is not higher than the last one, or if the child has settled. So a node can
/// be attached to a running composition, and can read its children while they report.
struct ProgressState {
  struct Child {
    var weight = 1.0
    var fraction = 0.0
    var isSettled = false
  }

  /// Never decreases.
  private(set) var fraction = 0.0
  private(set) var shape: ProgressShape?
  /// Whether the children that existed at first were read. Until then no child counts.
  private(set) var isComplete: Bool
  private(set) var isEnded = false
  /// Whether the operation failed or was cancelled.
  private(set) var endsUnsuccessfully = false
  private var hasReported = false

  /// The children of a parallel composition, by tag.
  private var children: [Child] = []
  /// The total weight of all children, or of all children seen so far.
  private var totalWeight = 0.0
  /// The part of the total weight that is done.
  private var doneWeight = 0.0
  /// How many children of a sequence were seen.
  private var seenCount = 0
  /// The last child seen.
  private var current = Child(weight: 0, isSettled: true)
  /// The fractions of running driven operations.
  private var running: [Int: Double] = [:]
  /// The tags that settled before the first read was complete.
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

  /// Whether the progress is unknown.
  var isIndeterminate: Bool {
    if isEnded { return false }
    switch shape {
    case nil: return !hasReported
    case .parallel, .weighted: return false
    case .steps(let count): return count == nil
    case .inner: return fraction == 0
    case .driven(let counts): return counts == nil
    }
  }

  /// The tag of the child that stands for the whole work, or of the last such child.
  var innerTag: Int? { shape == .inner ? seenCount : nil }

  /// Whether nothing was heard of a child of a sequence that starts: the node began to monitor
  /// after the child was added.
  func misses(_ tag: Int) -> Bool {
    switch shape {
    case .steps, .weighted, .inner: !isEnded && tag > seenCount
    case .parallel, .driven, nil: false
    }
  }

  // MARK: - Inputs

  // Each input returns whether the visible progress has changed.

  /// Reports the progress of an operation without children.
  mutating func report(_ reported: Double) -> Bool {
    guard shape == nil, !isEnded else { return false }
    let isFirst = !hasReported
    hasReported = true
    return rise(to: reported) || isFirst
  }

  /// Called when all children were read.
  mutating func complete() -> Bool {
    isComplete = true
    settledEarly = []
    // The sums are computed anew. When a weight of 1 was changed to a much smaller weight, the old
    // sums are mostly rounding errors.
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

  /// Adds a child with its weight.
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
    case .driven:
      if !settledEarly.contains(tag), running[tag] == nil { running[tag] = 0 }
      return false
    case nil:
      return false
    }
    return update()
  }

  /// Skips the first `count` children of a sequence, which are over.
  mutating func passed(_ count: Int) -> Bool {
    guard !isEnded, count > seenCount else { return false }
    pass(count)
    return update()
  }

  /// Ends the first `count` children. Only the number is known of the children that were not seen.
  private mutating func pass(_ count: Int) {
    doneWeight += current.weight * current.fraction + Double(count - seenCount)
    totalWeight += Double(count - seenCount)
    seenCount = count
    // If one child stands for the whole work, the children before it may have failed, or may only
    // have prepared the work.
    current = Child(weight: 0, fraction: shape == .inner ? 0 : 1, isSettled: true)
  }

  /// Whether what is known of child `tag` may show through while its fraction is 0.
  func showsThrough(_ tag: Int) -> Bool { !isEnded && fraction == 0 && innerTag == tag }

  /// Advances a child to a fraction.
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
      guard let known = running[tag], fraction > known else { return false }
      running[tag] = fraction
    case nil:
      return false
    }
    return update()
  }

  /// Settles a child. A cancelled one keeps its fraction.
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
      // A failed child that stands for the whole work may be followed by another.
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

  /// Ends the progress when the operation settles: at 1 if the operation succeeded, otherwise at
  /// the present fraction.
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
    case .weighted(let weights):
      return weights.fraction(begun: seenCount, last: current.fraction).map { rise(to: $0) } ?? false
    case .inner:
      return rise(to: current.fraction)
    case .driven(let counts?):
      return counts.total > 0
        && rise(to: (Double(counts.done) + running.values.reduce(0, +)) / Double(counts.total))
    case .steps(nil), .driven(nil), nil:
      return false
    }
  }
}
