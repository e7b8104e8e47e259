import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("8 Conditions that skip quietly", .hangLimit)
struct QuietConditionTests {
  private let recorder = EventRecorder<String>()
  private let yes = Condition("yes") { _ in true }
  private let no = Condition("no") { _ in throw TestError.first }

  private func main(_ value: Int = 1) -> SimpleOperation<Int> {
    succeeding(value, named: "main", recorder: recorder)
  }

  @Test("A condition that does not hold, or throws, gives the other value, and the operation never runs")
  func otherwise_unmet_succeedsWithTheOtherValue() async {
    for condition in [no, Condition("false") { _ in false }] {
      let main = main()
      let quiet = main.condition(condition, otherwise: 7)
      #expect(await outcomeOfStarting(quiet).value == 7)
      #expect(main.isCancelled && main.isFinished)
    }
    #expect(!recorder.events.contains("main"))
  }

  @Test("A condition that holds changes nothing, neither for a success nor for a failure of the operation")
  func otherwise_met_settlesAsTheOperation() async {
    #expect(await outcomeOfStarting(main(3).condition(yes, otherwise: 7)).value == 3)
    let failing = failing(TestError.second, as: Int.self).condition(yes, otherwise: 7)
    #expect(await outcomeOfStarting(failing).error as? TestError == .second)
    // The failure of a condition inside is the operation's, not this condition's.
    let inside = main().condition(no).condition(yes, otherwise: 7)
    #expect(await outcomeOfStarting(inside).error is ConditionError)
  }

  @Test("Nil is a value, a plain operation has none, and in a composite a skipped child fails nothing")
  func otherwise_inAComposite_failsNothing() async throws {
    let optional = main().map { Optional($0) }.condition(no, otherwise: nil)
    let plain = BlockOperation {}.asSimpleOperation().condition(no, otherwise: ())
    let composite = CompositeOperation {
      optional
      plain
      main(5)
    }
    try await composite.run()
    #expect(composite.results.count == 3 && composite.results.last as? Int == 5)
    #expect(optional.result == .some(.none))
  }

  @Test("A cancel while the condition is evaluated cancels")
  func otherwise_cancelled_isCancelled() async {
    let gate = Gate()
    let reached = Gate()
    let quiet = main().condition(
      Condition("slow") { _ in
        reached.open()
        await gate.wait()
        return false
      }, otherwise: 7)
    await onWorker { quiet.start() }
    await reached.wait()
    quiet.cancel()
    gate.open()
    #expect(await settled(quiet).isCancelled)
  }
}
