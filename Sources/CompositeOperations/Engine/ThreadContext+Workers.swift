// What a worker, or a lane, knows of its thread.

extension ThreadContext {
  /// Makes `source` the next thing this thread turns to, if it is a worker with nothing else to turn to.
  func takeOn(_ source: WorkSource) -> Bool {
    guard isWorker || source === expected, next == nil, source.environment.qualityOfService.urgency == urgency else {
      return false
    }
    next = source
    return true
  }

  /// Starts a composition, whose source this thread then turns to.
  func expect(_ source: WorkSource?, _ start: () -> Void) {
    let previous = expected
    expected = isWorker ? source : nil
    runUserCode(start)
    expected = previous
  }

  func takeNext() -> WorkSource? {
    guard let next else { return nil }
    self.next = nil
    return unsafeDowncast(next, to: WorkSource.self)
  }

  /// A turn begins on this thread.
  func beginTurn(of pieces: Int) { turn.begin(of: pieces, at: uptimeNanoseconds()) }

  /// Whether another piece of work may be done in this turn, which is counted.
  @inline(__always)
  func continuesTurn() -> Bool { turn.continues(now: uptimeNanoseconds) }

  /// Whether the worker shall turn to something else before it goes on.
  var hasNext: Bool { next != nil }

  func beWorker(urgency: Int, _ body: () -> Void) {
    let previous = (isWorker, self.urgency)
    isWorker = true
    self.urgency = urgency
    // For what the engine leaves behind: each turn of the user's code has a pool of its own.
    withAutoreleasePool(body)
    (isWorker, self.urgency) = previous
  }
}
