import Foundation

/// Calls a closure once, after a while, unless it is cancelled before. It blocks no thread.
final class Countdown: @unchecked Sendable {  // `timer` is a constant and thread-safe
  private let timer: any DispatchSourceTimer

  init(_ duration: Duration, _ handler: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now() + duration.dispatchInterval)
    timer.setEventHandler(handler: handler)
    timer.activate()
  }

  deinit {
    timer.cancel()
  }

  func cancel() {
    timer.cancel()
  }
}

extension Duration {
  /// The duration for the timers of Dispatch.
  fileprivate var dispatchInterval: DispatchTimeInterval {
    .nanoseconds(Int(min((self / .nanoseconds(1)).rounded(), 9e18)))
  }

  /// The duration as seconds with at most two decimals, such as `1.5 s`.
  var inSeconds: String {
    let hundredths = Int((self / .milliseconds(10)).rounded())
    let rest = hundredths % 100
    guard rest != 0 else { return "\(hundredths / 100) s" }
    return "\(hundredths / 100)." + (rest % 10 == 0 ? "\(rest / 10)" : "\(rest / 10)\(rest % 10)") + " s"
  }
}
