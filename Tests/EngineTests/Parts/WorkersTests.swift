import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The workers of compositions without a queue.
@Suite("3.4 Workers", .hangLimit)
struct WorkersTests {
  private func piece(_ result: WorkResult = .done, _ body: @escaping @Sendable () -> Void) -> ScriptedForm.Piece {
    { _, _, context in
      // However long a busy machine keeps it from its processor: the number of pieces alone ends
      // the turn.
      context.turn.end = .max
      body()
      return result
    }
  }

  @Test("An offered composition is asked for pieces until it has none, and no longer", arguments: [0, 1, 3, 10_000])
  func offer_someSource_isAskedUntilNothing(count: Int) async {
    let recorder = EventRecorder<Int>()
    let composition = ScriptedForm((0..<count).map { number in piece { recorder.record(number) } })
    Workers.offer(composition)
    await composition.askedInVain.wait(forCount: 1)
    await settleDown()
    #expect(recorder.events == Array(0..<count))
    // At the end of a turn another worker asks it too.
    #expect(composition.asked.current <= count + 1 + count / Turn.pieces)
    composition.add(piece { recorder.record(-1) })
    await settleDown()
    #expect(recorder.count == count)
    Workers.offer(composition)
    await recorder.wait(for: -1)
  }

  @Test("While a piece of work blocks, a standby takes the next; a piece in flight does not keep the worker")
  func moreIsAvailable_pieceBlocks_standbyTakesOver() async {
    let (second, all) = (Gate(), Gate())
    let composition = ScriptedForm([
      { composition, slot, _ in
        slot.moreIsAvailable(in: composition)
        second.waitBlocking()
        return .done
      },
      piece(.inFlight) { second.open() },
      piece { all.open() },
    ])
    Workers.offer(composition)
    await all.wait()
  }

  @Test("There is one standby at a time")
  func beginStandby_untilItEnds_isOnce() {
    let composition = ScriptedForm()
    #expect(composition.beginStandby())
    #expect(!composition.beginStandby())
    composition.endStandby()
    #expect(composition.beginStandby())
  }

  @Test("A composition that a piece of work brings up is attended to by the same worker, which then comes back")
  func offer_insidePiece_isAttendedToByTheSameWorker() async {
    let recorder = EventRecorder<String>()
    let threads = EventRecorder<ObjectIdentifier>()
    @Sendable func note(_ text: String, _ context: ThreadContext) -> WorkResult {
      // One turn, however long a busy machine makes it last.
      context.turn.end = .max
      recorder.record(text)
      threads.record(ObjectIdentifier(context))
      return .done
    }
    let inner = ScriptedForm((1...2).map { number in { _, _, context in note("inner \(number)", context) } })
    let outer = ScriptedForm([
      { _, _, context in
        Workers.offer(inner)
        return note("outer 1", context)
      },
      { _, _, context in note("outer 2", context) },
    ])
    Workers.offer(outer)
    await outer.askedInVain.wait(forCount: 1)
    #expect(recorder.events == ["outer 1", "inner 1", "inner 2", "outer 2"])
    #expect(Set(threads.events).count == 1)
  }

  @Test("Another worker runs the second composition that a piece offers, and one offered in user code")
  func offer_moreInsidePiece_isAttendedToByOthers() async {
    let (first, second, third) = (Gate(), Gate(), Gate())
    let compositions = [first, second, third].map { gate in ScriptedForm([piece { gate.open() }]) }
    let outer = ScriptedForm([
      { _, _, context in
        Workers.offer(compositions[0])
        Workers.offer(compositions[1])
        second.waitBlocking()
        context.runUserCode { Workers.offer(compositions[2]) }
        third.waitBlocking()
        return .done
      }
    ])
    Workers.offer(outer)
    for gate in [first, second, third] { await gate.wait() }
  }

  @Test("At the end of a turn no composition is forgotten, however deeply they were brought up inside each other")
  func turn_ends_forgetsNoSource() async {
    for depth in 1...70 {
      let done = (0..<depth).map { _ in Gate() }
      @Sendable func composition(_ level: Int) -> ScriptedForm {
        ScriptedForm([
          { _, _, _ in
            if level + 1 < depth { Workers.offer(composition(level + 1)) }
            return .done
          },
          piece { done[level].open() },
        ])
      }
      Workers.offer(composition(0))
      for gate in done { await gate.wait() }
    }
  }

  @Test("later() runs something on another thread, now or after a delay")
  func later_runs() async {
    let (now, delayed) = (Gate(), Gate())
    Threads.later(qualityOfService: .default) { now.open() }
    Threads.later(after: .milliseconds(1), qualityOfService: .utility) { delayed.open() }
    await now.wait()
    await delayed.wait()
  }

  @Test("start() runs an operation on a worker, and the children of a composition after it")
  func start_operation_runsOnWorker() async {
    let simple = SimpleOperation<Bool> { $0.finish(with: ThreadContext.current.isWorker) }
    let composite = CompositeOperation(operations: [succeeding(1), succeeding(2)])
    Workers.start(simple)
    composite.qualityOfService = .userInitiated
    Workers.start(composite)
    // The body is user code, in which the engine's lists are switched off.
    #expect(await settled(simple).value == false)
    #expect(await settled(composite).value?.count == 2)
  }

  @Test(
    "3.4 Composites that have settled by the time they are observed do not make a limited parent forget the rest",
    arguments: 0...3)
  func limitedParent_childrenSettleWhileStarting_finishes(plainChildren: Int) async {
    let composite = CompositeOperation(
      operations: (0..<plainChildren).map { _ in BlockOperation {} }
        + (0..<100).map { _ in SelfCancelling(operations: [succeeding(1)]) })
    composite.failurePolicy = .waitForAll
    composite.maxConcurrentOperationCount = 1
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(composite.childOutcomes.count { $0?.isCancelled == true } == 100)
  }

  @Test("A nested composite may start another one in its main, and wait for it")
  func main_startsAndAwaitsAnother_finishes() async {
    let composite = CompositeOperation(operations: [
      CompositeOperation(operations: [Preparing(operations: [succeeding(1)]), Preparing(operations: [succeeding(2)])])
    ])
    #expect(await outcomeOfStarting(composite).value?.count == 1)
  }
}

private final class SelfCancelling: CompositeOperation, @unchecked Sendable {  // stores nothing
  override func main() {
    super.main()
    cancel()
  }
}

private final class Preparing: CompositeOperation, @unchecked Sendable {  // stores nothing
  override func main() {
    let preparation = CompositeOperation(operations: [succeeding(0), succeeding(0)])
    preparation.start()
    preparation.waitUntilFinished()
    super.main()
  }
}
