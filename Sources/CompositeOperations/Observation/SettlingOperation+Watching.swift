// What other targets see of operations, to record timelines and draw them. They also use the
// monitors and the known children of compositions.

extension SettlingOperation {
  /// Whether the operation was started or has settled.
  package final var hasBegun: Bool { state.current.phase != .pending }

  /// Whether the operation has an outcome, which may not be announced yet.
  package final var hasOutcome: Bool { state.current.isSettled }

  package final var hasSucceeded: Bool { state.current.ending == .success }

  /// Whether the operation only waits for others or runs them.
  package final var isComposition: Bool { state.current.has(.needsNoSlot) }

  /// Whether a composition made the operation in order to wait for something.
  package final var isGate: Bool { self is GateOperation }
}

extension Composition {
  /// The number of children that are done, and the number of all children; nil if unknown.
  ///
  /// - Parameter settledCount: how many children have settled.
  package final func childCounts(settled settledCount: Int) -> (done: Int, total: Int)? {
    switch progressShape {
    case .parallel(let count): (min(settledCount, count), count)
    case .steps(let count?): (settledCount, max(count, settledCount))
    case .weighted(let weights): (settledCount, max(weights.count, settledCount))
    case .driven(let counts): counts
    case .steps(nil), .inner: nil
    }
  }
}
