import Dispatch

/// A timer source for each timeout: Dispatch's cancellable timer.
enum DispatchTimers {
  static func setAndCancel(_ count: Int) {
    let queue = DispatchQueue(label: "timers")
    let timers = (0..<count).map { index in
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { preconditionFailure("too slow") }
      timer.schedule(deadline: .now() + .seconds(60 + index % 7))
      timer.activate()
      return timer
    }
    for timer in timers { timer.cancel() }
    // Waits until the queue has handled the cancelled timers.
    queue.sync {}
  }
}
