import Dispatch

/// A timer source for each timeout, which is what Dispatch has for timers that can be cancelled.
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
    // What was cancelled is dealt with in turn.
    queue.sync {}
  }
}
