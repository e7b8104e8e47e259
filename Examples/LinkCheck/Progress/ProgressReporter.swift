import ExampleSupport
import Foundation

/// Tells on the standard error output how the run goes: with a bar on a terminal, with plain lines elsewhere.
final class ProgressReporter: Sendable {
  private struct State {
    var title = ""
    var done = 0
    var total = 0
    var note = ""
    var lastDrawn: ContinuousClock.Instant?
    var isDrawn = false
  }

  private let isBar: Bool
  private let write: @Sendable (String) -> Void
  private let width: @Sendable () -> Int
  private let state = Shared(State())

  init(
    isBar: Bool = Terminal.isInteractive, width: @escaping @Sendable () -> Int = { Terminal.width },
    write: @escaping @Sendable (String) -> Void = Terminal.write
  ) {
    self.isBar = isBar
    self.width = width
    self.write = write
  }

  /// Begins a stage of `total` steps.
  func begin(_ title: String, total: Int) {
    state.withLock { state in
      state.title = title
      state.done = 0
      state.total = total
      state.note = ""
      guard total > 0 else { return clear(&state) }
      if isBar { draw(&state) } else { write("\(title): \(total)\n") }
    }
  }

  /// One step of the stage is done.
  func step(_ note: String = "") {
    state.withLock { state in
      state.done += 1
      state.note = note
      guard isBar else {
        // Some ten lines for a long stage, so that a log shows that it moves.
        let stride = max(25, state.total / 10)
        if state.done % stride == 0, state.done < state.total {
          write("\(state.title): \(state.done) of \(state.total)\n")
        }
        return
      }
      let now = ContinuousClock.now
      let isDue = state.lastDrawn.map { now - $0 >= .milliseconds(50) } ?? true
      if isDue || state.done == state.total { draw(&state) }
    }
  }

  /// Says something that is worth a line of its own.
  func say(_ text: String) {
    state.withLock { state in
      clear(&state)
      write(text + "\n")
      if isBar { draw(&state) }
    }
  }

  /// Takes the bar away.
  func end() {
    state.withLock { clear(&$0) }
  }

  private func draw(_ state: inout State) {
    let bar = ProgressBar.line(
      title: state.title, done: state.done, total: state.total, note: state.note, width: width())
    write("\r\u{1B}[K" + bar)
    state.isDrawn = true
    state.lastDrawn = .now
  }

  private func clear(_ state: inout State) {
    guard state.isDrawn else { return }
    write("\r\u{1B}[K")
    state.isDrawn = false
  }
}
