import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The two lists that keep every stack flat: effects, and what a worker turns to next.
@Suite("3.4 ThreadContext", .hangLimit)
struct ThreadContextTests {
  /// Calls a closure when an operation settles.
  private final class Teller: SettlementObserver {
    private let body: @Sendable (Int) -> Void

    init(_ body: @escaping @Sendable (Int) -> Void) { self.body = body }

    func operationDidSettle(_ operation: Operation, tag: Int) { body(tag) }
  }

  private static func tell(_ tag: Int, _ body: @escaping @Sendable (Int) -> Void) {
    ThreadContext.current.perform(.notify(Observation(observer: Teller(body), tag: tag), Operation()))
  }

  @Test("Each thread has its own, and keeps it")
  func current_perThread_isOne() async {
    let (started, ended) = (Gate(), Gate())
    async let one = onThread {
      let contexts = [ThreadContext.current, ThreadContext.current].map(ObjectIdentifier.init)
      started.open()
      ended.waitBlocking()  // so that the two live at the same time
      return contexts
    }
    async let other = onThread {
      started.waitBlocking()
      let context = ObjectIdentifier(ThreadContext.current)
      ended.open()
      return context
    }
    let (mine, theirs) = await (one, other)
    #expect(mine[0] == mine[1] && mine[0] != theirs)
  }

  @Test("An effect runs at once; effects inside it run after it, in order")
  func perform_insideEffect_waits() async {
    let recorder = EventRecorder<String>()
    await onThread {
      ThreadContextTests.tell(1) { _ in
        recorder.record("1 begins")
        ThreadContextTests.tell(2) { _ in
          recorder.record("2")
          ThreadContextTests.tell(4) { _ in recorder.record("4") }
        }
        ThreadContextTests.tell(3) { _ in recorder.record("3") }
        recorder.record("1 ends")
      }
      recorder.record("returned")
    }
    #expect(recorder.events == ["1 begins", "1 ends", "2", "3", "4", "returned"])
  }

  @Test("Inside user code an effect runs before the code continues; what waited goes on waiting")
  func perform_insideUserCode_runsAtOnce() async {
    let recorder = EventRecorder<String>()
    await onThread {
      ThreadContextTests.tell(1) { _ in
        ThreadContextTests.tell(2) { _ in recorder.record("2") }
        ThreadContext.current.runUserCode {
          ThreadContextTests.tell(3) { _ in
            ThreadContextTests.tell(4) { _ in recorder.record("4") }
            recorder.record("3")
          }
          recorder.record("user")
        }
        ThreadContextTests.tell(5) { _ in recorder.record("5") }
        recorder.record("1 ends")
      }
    }
    #expect(recorder.events == ["3", "4", "user", "1 ends", "2", "5"])
  }

  @Test("What an effect releases may bring up others")
  func perform_releasing_others_run() async {
    let recorder = EventRecorder<Int>()
    await onThread {
      ThreadContextTests.tell(0) { _ in
        for number in 1...100 {
          let last = ReleaseTeller { ThreadContextTests.tell(0) { _ in recorder.record(-number) } }
          ThreadContextTests.tell(number) { number in
            withExtendedLifetime(last) { recorder.record(number) }
          }
        }
      }
    }
    #expect(recorder.events.filter { $0 > 0 } == Array(1...100))
    #expect(recorder.events.filter { $0 < 0 }.sorted() == (-100 ... -1).map { $0 })
  }

  /// Calls a closure when it is released.
  private final class ReleaseTeller: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    deinit { body() }
  }

  @Test("User code that throws leaves everything as it was")
  func runUserCode_throws_restores() async {
    let recorder = EventRecorder<String>()
    await onThread {
      ThreadContextTests.tell(1) { _ in
        try? ThreadContext.current.runUserCode { throw TestError.first }
        ThreadContextTests.tell(2) { _ in recorder.record("2") }
        recorder.record("1 ends")
      }
    }
    #expect(recorder.events == ["1 ends", "2"])
  }

  @Test("A hundred thousand effects, each of which brings up the next, run on a stack of 512 KiB")
  func perform_longChain_usesConstantStack() async {
    let count = Locked(0)
    await onThread { ThreadContextTests.chain(count, 100_000) }
    #expect(count.current == 100_000)
  }

  private static func chain(_ count: Locked<Int>, _ length: Int) {
    tell(0) { _ in if count.increment() < length { chain(count, length) } }
  }

  @Test("Cancelling and abandoning work as effects")
  func perform_cancelAndAbandon_settle() async {
    let executing = HeldOperation<Int>(settlesWhenCancelled: true)
    let unstarted = HeldOperation<Int>()
    await onThread {
      executing.start()
      ThreadContext.current.perform(.cancel(executing))
      ThreadContext.current.perform(.unwind(unstarted))
    }
    #expect(executing.outcome?.isCancelled == true && unstarted.outcome?.isCancelled == true)
    #expect(!unstarted.started.isOpen)
  }

  @Test(
    "Only a worker that is not inside user code, of the same urgency, with nothing else to turn to, takes a composition on"
  )
  func takeOn_onlyByIdleWorker() async {
    func composition(_ qualityOfService: QualityOfService) -> Composition {
      let composition = ScriptedForm()
      composition.environment.qualityOfService = qualityOfService
      return composition
    }
    let (first, second, urgent) = (composition(.default), composition(.default), composition(.userInitiated))
    let answers = await onThread {
      let context = ThreadContext.current
      var answers = [context.takeOn(first)]
      context.beWorker(urgency: QualityOfService.default.urgency) {
        answers.append(context.takeOn(urgent))
        context.runUserCode { answers.append(context.takeOn(first)) }
        answers.append(context.takeOn(first))
        answers.append(context.takeOn(second))
        answers.append(context.takeNext() === first && context.takeNext() == nil)
        answers.append(context.takeOn(second))
        answers.append(context.takeNext() === second)
      }
      return answers + [context.takeOn(first), context.isWorker]
    }
    #expect(answers == [false, false, false, true, false, true, true, true, false, false])
  }

  @Test(
    "A worker that starts a composition takes its composition on, though its main is the user's; other compositions not"
  )
  func expect_startOfComposition_takesOnItsSourceOnly() async {
    let (mine, other) = (ScriptedForm(), ScriptedForm())
    let answers = await onThread {
      let context = ThreadContext.current
      var answers: [Bool] = []
      context.beWorker(urgency: QualityOfService.default.urgency) {
        context.expect(mine) { answers += [context.isWorker, context.takeOn(other), context.takeOn(mine)] }
        answers += [context.takeNext() === mine, context.isWorker]
      }
      context.expect(mine) { answers.append(context.takeOn(mine)) }
      return answers
    }
    #expect(answers == [false, false, true, true, true, false])
  }
}
