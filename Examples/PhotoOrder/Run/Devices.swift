import Foundation

/// What a session needs of a terminal: keys, and a clock to draw by.
final class Devices {
  private var keyboard: Keyboard?
  private var suspending: (any DispatchSourceSignal)?
  private var clock: (any DispatchSourceTimer)?

  /// - Parameters:
  ///   - hasKeys: whether keys are read; the terminal is in raw mode until `close()`.
  ///   - draws: whether the table is drawn again when time has passed.
  init(hasKeys: Bool, draws: Bool, send: AsyncStream<Session.Input>.Continuation) {
    if hasKeys, RawMode.enter() {
      keyboard = Keyboard(press: { send.yield(.key($0)) }, end: { send.yield(.keysEnded) })
      suspending = Signals.suspending { send.yield(.redraw) }
    }
    guard draws else { return }
    let clock = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "Clock"))
    clock.schedule(deadline: .now(), repeating: .milliseconds(100), leeway: .milliseconds(20))
    clock.setEventHandler { send.yield(.tick) }
    clock.activate()
    self.clock = clock
  }

  func close() {
    keyboard?.close()
    clock?.cancel()
    if let suspending {
      suspending.cancel()
      signal(SIGTSTP, SIG_DFL)
    }
    RawMode.leave()
  }
}
