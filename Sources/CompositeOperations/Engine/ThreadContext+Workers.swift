// What a worker or a lane knows of its thread.

extension ThreadContext {
  /// Makes `composition` the next one of this thread, if the thread is a worker with none to
  /// follow.
  func takeOn(_ composition: Composition) -> Bool {
    guard isWorker || composition === expected, next == nil, composition.environment.qualityOfService.urgency == urgency
    else {
      return false
    }
    next = composition
    return true
  }

  /// Starts an operation, whose composition this thread may take on next.
  func expect(_ composition: Composition?, _ start: () -> Void) {
    let previous = expected
    expected = isWorker ? composition : nil
    runUserCode(start)
    expected = previous
  }

  func takeNext() -> Composition? {
    guard let next else { return nil }
    self.next = nil
    return unsafeDowncast(next, to: Composition.self)
  }

  /// Begins a turn on this thread.
  func beginTurn(of pieces: Int) { turn.begin(of: pieces, at: uptimeNanoseconds()) }

  /// Counts a piece of work. Returns whether the turn allows it.
  @inline(__always)
  func continuesTurn() -> Bool { turn.continues(now: uptimeNanoseconds) }

  /// Whether the worker has another composition to turn to first.
  var hasNext: Bool { next != nil }

  func beWorker(urgency: Int, _ body: () -> Void) {
    let previous = (isWorker, self.urgency)
    isWorker = true
    self.urgency = urgency
    // For objects of the engine: each call of the user's code has a pool of its own.
    withAutoreleasePool(body)
    (isWorker, self.urgency) = previous
    // What the worker released at its end may have had a deinitializer that offered a composition.
    takeNext()?.offer()
  }
}
