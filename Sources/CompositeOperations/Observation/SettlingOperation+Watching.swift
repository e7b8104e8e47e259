// What those outside of this library see who watch operations: recorders of timelines, and who draws them. Beside these
// there are the monitors of compositions, and what is known of the children.

extension SettlingOperation {
  /// Whether it was started, or has settled.
  package final var hasBegun: Bool { state.current.phase != .pending }

  /// Whether it has an outcome, which may not be announced yet.
  package final var hasOutcome: Bool { state.current.isSettled }

  package final var hasSucceeded: Bool { state.current.ending == .success }

  /// Whether it waits for others, or runs them, and does no work of its own.
  package final var isComposition: Bool { state.current.has(.needsNoSlot) }

  /// Whether a composition made it in order to wait for something.
  package final var isGate: Bool { self is GateOperation }
}

extension WorkSource {
  /// How many of the children are done, and how many there are; nil where that is not known.
  ///
  /// - Parameter settledCount: how many have settled.
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
