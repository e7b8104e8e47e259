import CompositeOperations
import Foundation
import TestSupport
import Testing

/// `finish`, `reject`, `settle`, `cancel` and `start` of one operation, called at the same moment
/// by two to four threads.
@Suite(.serialized)
struct SettleRaceTests {
  /// What one thread does to the operation.
  private enum Move: CaseIterable {
    case finish, finishOtherwise, reject, settleCancelled, rejectCancelled, cancel, start
  }

  /// The observations of one round.
  private struct Seen {
    var completions: [Verdict] = []
    var accepted: [Verdict] = []
    var bodies = 0
    var hooks = 0
    /// How often a cancel returned with the operation neither cancelled nor settled.
    var lostCancels = 0
    /// Whether `completion` saw the outcome, and saw it before the operation was finished.
    var isInOrder = false
  }

  @Test(arguments: [2, 3, 4])
  func settleCancelAndStart_atTheSameMoment_leaveOneOutcome(threads: Int) async {
    let complaints = await Race.run(rounds: Scale.count(12_000, least: 100), threads: threads) { _, random in
      let seen = Locked(Seen())
      let operation = SimpleOperation<Payload> { _ in seen.withLock { $0.bodies += 1 } }
      operation.completion = { outcome in
        let isReadable = operation.outcome.map { Verdict($0) } == Verdict(outcome)
        seen.withLock { seen in
          seen.completions.append(Verdict(outcome))
          seen.isInOrder = isReadable && !operation.isFinished
        }
      }
      operation.onCancel = { seen.withLock { $0.hooks += 1 } }
      if random.chance(40) { operation.start() }
      let moves = (0..<threads).map { _ in random.pick(Move.allCases) }
      let bodies: [@Sendable () -> Void] = moves.map { move in
        { SettleRaceTests.make(move, operation, seen) }
      }
      return Race.Round(bodies: bodies) {
        // Ensures the start and the end; neither call has an effect if a move made it.
        operation.start()
        SettleRaceTests.make(.finish, operation, seen)
        return SettleRaceTests.check(operation, seen.current, moves)
      }
    }
    #expect(complaints.isEmpty)
  }

  private static func make(_ move: Move, _ operation: SimpleOperation<Payload>, _ seen: Locked<Seen>) {
    func note(_ verdict: Verdict, _ isAccepted: Bool) {
      if isAccepted { seen.withLock { $0.accepted.append(verdict) } }
    }
    switch move {
    case .finish: note(.success(.number(1)), operation.finish(with: .number(1)))
    case .finishOtherwise: note(.success(.number(2)), operation.settle(with: .success(.number(2))))
    case .reject: note(.failure(.thrown(by: 3)), operation.reject(with: NodeError(node: 3)))
    case .settleCancelled: note(.cancelled, operation.settle(with: .cancelled))
    case .rejectCancelled: note(.cancelled, operation.reject(with: CancellationError()))
    case .cancel:
      operation.cancel()
      if !operation.isCancelled, operation.outcome == nil { seen.withLock { $0.lostCancels += 1 } }
    case .start: operation.start()
    }
  }

  private static func check(_ operation: SimpleOperation<Payload>, _ seen: Seen, _ moves: [Move]) -> String? {
    guard let verdict = operation.outcome.map({ Verdict($0) }) else { return "not settled after \(moves)" }
    let isConsistent =
      operation.isFinished && !operation.isExecuting && seen.isInOrder
      && seen.completions == [verdict]
      && seen.accepted.count <= 1 && seen.accepted.allSatisfy { $0 == verdict }
      && (verdict == .cancelled || seen.accepted == [verdict])
      && operation.isCancelled == (verdict == .cancelled)
      && seen.bodies <= 1 && seen.hooks <= 1 && seen.lostCancels == 0
      && (moves.contains(.cancel) || seen.hooks == 0)
    return complaint("\(moves) left \(verdict), isCancelled \(operation.isCancelled), \(seen)", unless: isConsistent)
  }

  @Test func startFromFourThreads_runsBodyOnce() async {
    let complaints = await Race.run(rounds: Scale.count(10_000, least: 100), threads: 4) { _, _ in
      let bodies = Locked(0)
      let operation = SimpleOperation<Void> { operation in
        bodies.increment()
        operation.finish()
      }
      return Race.Round(bodies: Array(repeating: { operation.start() }, count: 4)) {
        complaint("\(bodies.current) bodies", unless: bodies.current == 1 && operation.isFinished)
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func cancelAndStart_ofAsyncOperation_cancelItsWorkOrNeverRunIt() async {
    let all = Locked<[AsyncOperation<Int>]>([])
    _ = await Race.run(rounds: Scale.count(10_000, least: 100), threads: 3) { _, random in
      let operation = AsyncOperation<Int> {
        await Task.yield()
        try Task.checkCancellation()
        return 1
      }
      all.withLock { $0.append(operation) }
      let mayCancel = random.chance(70)
      return Race.Round(bodies: [{ operation.start() }, { if mayCancel { operation.cancel() } }, { operation.start() }])
      {
        nil
      }
    }
    for operation in all.current {
      let outcome = await settled(operation)
      #expect(outcome.isCancelled == operation.isCancelled && (outcome.isCancelled || outcome.value == 1))
    }
  }
}
