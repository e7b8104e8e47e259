#if os(macOS) || os(Linux)
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PostgresPoolStateTests {
  private typealias State = PostgresPoolState<Int, String>

  private func word(_ asked: State.Asked) -> String {
    switch asked {
    case .lend(let connection): "lend \(connection)"
    case .wait(nil): "wait"
    case .wait(.now): "wait, connect"
    case .wait(.at): "wait, connect later"
    case .refuse: "refuse"
    }
  }

  private func word(_ freed: State.Freed) -> String {
    switch freed {
    case .keep: "keep"
    case .lend(let waiter, nil): "lend to \(waiter)"
    case .lend(let waiter, .now): "lend to \(waiter), connect"
    case .lend(let waiter, .at): "lend to \(waiter), connect later"
    case .close: "close"
    }
  }

  @Test func ask_severalWait_oneAttemptAtATime() {
    var state = State(limit: 2)
    #expect(word(state.ask("a")) == "wait, connect")
    #expect(word(state.ask("b")) == "wait")
    #expect(word(state.ask("c")) == "wait")
    #expect(word(state.connected(1)) == "lend to a, connect")
    #expect(word(state.connected(2)) == "lend to b")
    #expect(word(state.giveBack(1)) == "lend to c")
    #expect(word(state.giveBack(2)) == "keep")
    #expect(word(state.ask("d")) == "lend 2")
    #expect(state.lent == 2)
  }

  @Test func failed_noneLent_tellsThoseWhoWait() {
    var state = State(limit: 2)
    _ = state.ask("a")
    _ = state.ask("b")
    let (told, next) = state.failed(next: .now)
    #expect(told == ["a", "b"] && next == nil)
    // The next one waits for the next attempt.
    #expect(word(state.ask("c")) == "wait, connect later")
    #expect(word(state.connected(1)) == "lend to c")
    #expect(state.notBefore == nil)
  }

  @Test func failed_someLent_goesOn() {
    var state = State(limit: 2)
    _ = state.ask("a")
    _ = state.connected(1)
    _ = state.ask("b")
    let instant = ContinuousClock.now
    let (told, next) = state.failed(next: instant)
    #expect(told.isEmpty && next == .at(instant))
    #expect(word(state.giveBack(1)) == "lend to b")
    // No borrower waits for this attempt.
    #expect(word(state.connected(2)) == "keep")
  }

  /// A transaction of the user may last as long as the outage.
  @Test func failed_someLent_tellsThoseWhoHaveWaitedLong() {
    let start = ContinuousClock.now
    var state = State(limit: 3)
    _ = state.ask("a", at: start)
    _ = state.connected(1)
    _ = state.ask("b", at: start)
    _ = state.ask("c", at: start + .seconds(1))
    var (told, next) = state.failed(at: start + .seconds(4), next: start + .seconds(5))
    #expect(told.isEmpty && next == .at(start + .seconds(5)))
    (told, next) = state.failed(at: start + .seconds(5), next: start + .seconds(6))
    #expect(told == ["b"] && next == .at(start + .seconds(6)))
    (told, next) = state.failed(at: start + .seconds(6), next: start + .seconds(7))
    #expect(told == ["c"] && next == nil)
    #expect(word(state.ask("d", at: start + .seconds(6))) == "wait, connect later")
    #expect(word(state.giveBack(1)) == "lend to d")
  }

  @Test func discard_oneWaits_connectsAnew() {
    var state = State(limit: 1)
    _ = state.ask("a")
    _ = state.connected(1)
    _ = state.ask("b")
    #expect(state.discard() == .now)
    #expect(word(state.connected(2)) == "lend to b")
    #expect(state.discard() == nil)
    #expect(state.lent == 0 && state.idle.isEmpty)
  }

  @Test func close_whileLent_closesWhenGivenBack() {
    var state = State(limit: 3)
    _ = state.ask("a")
    _ = state.connected(1)
    _ = state.ask("b")
    _ = state.connected(2)
    _ = state.giveBack(1)
    _ = state.takeIdle()
    _ = state.giveBack(1)
    let (connections, waiters) = state.close()
    #expect(connections == [1] && waiters.isEmpty)
    #expect(word(state.giveBack(2)) == "close")
    #expect(word(state.ask("c")) == "refuse")
    #expect(word(state.connected(3)) == "close")
  }

  /// Random inputs: no borrower waits while a connection is free, and there are never more
  /// connections than allowed.
  @Test(arguments: 1...4) func anyOrder_limitHolds(limit: Int) {
    var random = SeededRandomNumberGenerator(seed: UInt64(limit))
    var state = State(limit: limit)
    var (lent, last) = ([Int](), 0)
    func lend(_ freed: State.Freed, _ connection: Int) {
      if case .lend = freed { lent.append(connection) }
    }
    for step in 0..<5000 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1: if case .lend(let connection) = state.ask("\(step)") { lent.append(connection) }
      case 2 where state.isConnecting:
        last += 1
        lend(state.connected(last), last)
      case 3 where state.isConnecting: _ = state.failed(next: .now)
      case 4 where !lent.isEmpty:
        let connection = lent.removeFirst()
        if Bool.random(using: &random) { _ = state.discard() } else { lend(state.giveBack(connection), connection) }
      default: break
      }
      #expect(state.lent == lent.count)
      #expect(state.lent + state.idle.count + (state.isConnecting ? 1 : 0) <= limit)
      #expect(state.waiting.isEmpty || state.idle.isEmpty)
      // Waiting borrowers wait for something.
      #expect(state.waiting.isEmpty || state.isConnecting || state.lent > 0)
    }
  }

  @Test func backoff_failures_doublesUpToFiveSeconds() {
    var (backoff, random) = (PostgresBackoff(), SeededRandomNumberGenerator(seed: 1))
    var limits: [Duration] = []
    for _ in 0..<9 {
      limits.append(backoff.limit)
      #expect(backoff.next(using: &random) <= limits.last!)
    }
    #expect(limits == [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
    backoff.reset()
    #expect(backoff.limit == .milliseconds(50))
  }
}
#endif
