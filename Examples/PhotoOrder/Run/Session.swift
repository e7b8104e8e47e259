import CompositeOperations
import Foundation
import OperationTimelines
import WorkflowOperations

/// Runs an order until it is left: by a key, a signal, or the end of a script.
final class Session {
  /// Everything that the session is told, one after the other.
  enum Input: Sendable {
    case notice(Notice)
    case key(Key)
    /// A task came to its hold.
    case stopped
    /// Time to draw.
    case tick
    case redraw
    case signal(Int32)
    /// There will be no more keys.
    case keysEnded
  }

  /// How the session ended.
  struct End {
    /// The signal that ended it.
    var signal: Int32?
    /// Why the script could not go on.
    var failure: String?
    /// The graph as it was when the session ended, before what still ran was cancelled.
    var graph = ""
    var outcome = ""
  }

  private let desk: Desk
  private let view: any View
  private let symbols: Symbols
  private let hasKeys: Bool
  private let inputs: AsyncStream<Input>
  private var script: ScriptRun?
  private var chosen = 0
  private var end = End()

  /// - Parameter script: takes the place of the keys; nil if there are keys.
  init(_ desk: Desk, inputs: AsyncStream<Input>, view: any View, symbols: Symbols, script: ScriptRun?) {
    self.desk = desk
    self.inputs = inputs
    self.view = view
    self.symbols = symbols
    self.script = script
    hasKeys = script == nil
  }

  func run() async -> End {
    if hasKeys { _ = desk.perform(.start, on: .all) }
    var next = inputs.makeAsyncIterator()
    var goesOn = advance()
    while goesOn, let input = await next.next() { goesOn = take(input) && advance() }
    await close()
    return end
  }

  /// Goes on with the script, if there is one, and draws. Returns whether the session goes on.
  private func advance() -> Bool {
    defer { draw() }
    guard var script else { return true }
    let progress = script.advance(
      at: desk, say: { view.say($0) },
      show: { view.show(OrderTable(rows: desk.rows(), symbols: symbols)) })
    self.script = script
    switch progress {
    case .waits: return true
    case .ended: return false
    case .failed(let failure):
      end.failure = failure
      return false
    }
  }

  /// Returns whether the session goes on.
  private func take(_ input: Input) -> Bool {
    switch input {
    case .notice(let notice): view.say(desk.take(notice))
    case .key(.quit), .keysEnded: return false
    case .key(let key): press(key)
    case .redraw: view.startAnew()
    case .stopped, .tick: break
    case .signal(let signal):
      end.signal = signal
      return false
    }
    return true
  }

  private func press(_ key: Key) {
    switch key {
    case .up: chosen = max(0, chosen - 1)
    case .down: chosen = min(desk.tasks.count - 1, chosen + 1)
    case .choose(let index): if desk.tasks.indices.contains(index) { chosen = index }
    case .act(let action): perform(action, .task(chosen))
    case .actOnAll(let action): perform(action, .all)
    case .hold: perform(desk.isHeld(chosen) ? .release : .hold(0), .task(chosen))
    case .enter:
      if let action = desk.standing(of: chosen).nextAction {
        perform(action, .task(chosen))
      } else {
        view.say("\(desk.tasks[chosen].name) has to wait for others first")
      }
    case .quit: break
    }
  }

  private func perform(_ action: Command.Action, _ target: Command.Target) {
    if let remark = desk.perform(action, on: target) { view.say(remark) }
  }

  /// Takes down how it stands, cancels what still runs, and waits for that.
  private func close() async {
    let workflow = desk.order.workflow
    end.graph = workflow.mermaid()
    let unfinished = desk.tasks.filter { $0.state != .finished }.map(\.name)
    if !unfinished.isEmpty {
      end.outcome =
        "The order is not complete: \(desk.tasks.count - unfinished.count) of \(desk.tasks.count) tasks have finished."
        + "\nMissing: \(unfinished.joined(separator: ", "))"
    }
    draw()
    view.end()
    if workflow.isRunning {
      view.say("What still runs is cancelled.")
      workflow.cancel()
      await drain(tells: false)
    } else {
      await drain(tells: true)
    }
  }

  /// Waits until nothing runs and everything was told.
  private func drain(tells: Bool) async {
    var next = inputs.makeAsyncIterator()
    while desk.situation != .ended, let input = await next.next() {
      if case .notice(let notice) = input {
        let line = desk.take(notice)
        if tells { view.say(line) }
      }
    }
  }

  private func draw() {
    let table = OrderTable(
      rows: desk.rows(), symbols: symbols, chosen: hasKeys ? chosen : nil, hasColors: true)
    let finished = table.rows.count { $0.standing == .finished }
    let state =
      if desk.order.workflow.isRunning {
        "running"
      } else {
        switch desk.order.workflow.outcome {
        case .success: "complete"
        case .failure: "failed"
        case .cancelled: "cancelled"
        case nil: "not running"
        }
      }
    view.update(table, title: "\(desk.order.workflow.name)   \(state)   \(finished) of \(table.rows.count) finished")
  }
}
