import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.11 Task-local values of operations", .hangLimit)
struct ContextTests {
  init() { Request.registration }

  /// From where operations are started: a task, or a thread that belongs to none.
  enum Starter: CaseIterable {
    case task, thread

    func run(inRequest request: Int, _ body: @escaping @Sendable () -> Void) async {
      switch self {
      case .task: await Request.elsewhere(request, body)
      case .thread: await onWorker { Request.with(request, body) }
      }
    }
  }

  // MARK: - Captured, and bound

  @Test(
    "What runs for an operation sees the values of its maker, not of who starts it", arguments: ContextPath.all,
    Starter.allCases)
  func started_inAnotherRequest_seesTheMaker(path: ContextPath, starter: Starter) async {
    let seen = SeenRequests()
    let operation = Request.with(1) { path.make(seen) }
    await starter.run(inRequest: 2) { operation.start() }
    #expect(await settled(operation).value != nil)
    #expect(seen.places == path.places)
    #expect(seen.others(than: 1) == [])
  }

  @Test(
    "Made outside of requests, an operation sees the values of the composition that runs it", arguments: ContextPath.all
  )
  func madeOutside_seesItsComposition(path: ContextPath) async {
    let seen = SeenRequests()
    let operation = Request.$tenant.withValue("tenant 1") { path.make(seen) }
    let composite = Request.with(1) { CompositeOperation(operations: [operation]) }
    await Request.elsewhere(2) { composite.start() }
    #expect(await settled(composite).value != nil)
    #expect(seen.places == path.places)
    #expect(seen.others(than: 1) == [])
  }

  @Test("Made and started outside of requests, by a thread in a request", arguments: ContextPath.all)
  func madeOutside_seesNothing(path: ContextPath) async {
    let seen = SeenRequests()
    let operation = path.make(seen)
    await Request.elsewhere(2) { operation.start() }
    #expect(await settled(operation).value != nil)
    #expect(seen.places == path.places)
    #expect(seen.some == [])
  }

  @Test("A value with a default is always the maker's, also if that is the default")
  func defaultValue_isTheMakersEverywhere() async {
    let seen = EventRecorder<String>()
    let operation = SimpleOperation { seen.record(Request.current) }
    let composite = Request.with(1) { CompositeOperation(operations: [operation]) }
    _ = await outcomeOfStarting(composite)
    #expect(seen.events == ["1 none"])
  }

  @Test("Values that a closure of a composition binds are the values of what it makes")
  func boundInAClosure_areThoseOfItsOperations() async {
    let seen = EventRecorder<String>()
    let each = Request.with(1) {
      forEach([2, 3], maxConcurrent: 1) { number in
        Request.with(number) { SimpleOperation { seen.record(Request.current) } }
      }.then { _ in SimpleOperation { seen.record(Request.current) } }
    }
    _ = await outcomeOfStarting(each)
    #expect(seen.events == ["2 tenant 2", "3 tenant 3", "1 tenant 1"])
  }

  @Test("Values that a body binds are gone when the next closure runs")
  func boundInABody_areNotSeenAfterwards() async {
    let seen = EventRecorder<String>()
    let operation = Request.with(1) {
      SimpleOperation { Request.with(2) { seen.record(Request.current) } }.map { seen.record(Request.current) }
    }
    _ = await outcomeOfStarting(operation)
    #expect(seen.events == ["2 tenant 2", "1 tenant 1"])
  }

  @Test("One operation in two compositions, one after the other, keeps the values it has got")
  func awaitedByASecond_keepsTheValuesOfTheFirst() async {
    let seen = EventRecorder<String>()
    let shared = SimpleOperation { seen.record(Request.current) }
    let first = Request.with(1) { CompositeOperation(operations: [shared]) }
    let second = Request.with(2) { shared.map { seen.record(Request.current) } }
    _ = await outcomeOfStarting(first)
    _ = await outcomeOfStarting(second)
    #expect(seen.events == ["1 none", "2 tenant 2"])
  }

  // MARK: - Settled and cancelled from elsewhere

  @Test("Cancelled by another request: hooks, completion and observers see the maker", arguments: Starter.allCases)
  func cancelled_byAnotherRequest_seesTheMaker(starter: Starter) async {
    let seen = SeenRequests()
    let held = Request.with(1) { CancellingWithNote(seen) }
    held.onCancel = { seen.note("onCancel") }
    held.completion = { _ in seen.note("completion") }
    held.addObserver { _ in seen.note("observer") }
    await onWorker { held.start() }
    await starter.run(inRequest: 2) { held.cancel() }
    #expect(await settled(held).isCancelled)
    #expect(seen.places == ["didCancel", "onCancel", "completion", "observer"])
    #expect(seen.others(than: 1) == [])
  }

  @Test("A hook that another request sets after the cancel is called in the request of the maker")
  func onCancel_setAfterTheCancel_seesTheMaker() async {
    let seen = SeenRequests()
    let held = Request.with(1) { HeldOperation<Int>() }
    await onWorker { held.start() }
    held.cancel()
    await Request.elsewhere(2) { held.onCancel = { seen.note("onCancel") } }
    held.finish(with: 1)
    #expect(seen.places == ["onCancel"])
    #expect(seen.others(than: 1) == [])
  }

  @Test("A composition cancelled by another request: each child sees its own maker")
  func cancelledComposition_childrenSeeTheirMakers() async {
    let (first, second) = (SeenRequests(), SeenRequests())
    let composite = Request.with(1) {
      let inner = Request.with(2) { CancellingWithNote(second) }
      return CompositeOperation(operations: [CancellingWithNote(first), inner])
    }
    await onWorker { composite.start() }
    await Request.elsewhere(3) { composite.cancel() }
    #expect(await settled(composite).isCancelled)
    #expect(first.places == ["didCancel"] && first.others(than: 1) == [])
    #expect(second.places == ["didCancel"] && second.others(than: 2) == [])
  }

  @Test("Settled by another request, and what is set or added afterwards by a third", arguments: Starter.allCases)
  func settled_byAnotherRequest_seesTheMaker(starter: Starter) async {
    let seen = SeenRequests()
    let held = Request.with(1) { HeldOperation<Int>() }
    let next = Request.with(1) { CompositeOperation(operations: [held]).map { _ in seen.note("transform") } }
    held.completion = { _ in seen.note("completion") }
    // With a hook the operation keeps its values elsewhere.
    held.onCancel = {}
    await onWorker { next.start() }
    await held.started.wait()
    await starter.run(inRequest: 2) { held.finish(with: 1) }
    _ = await settled(next)
    await starter.run(inRequest: 3) {
      held.completion = { _ in seen.note("late completion") }
      held.addObserver { _ in seen.note("late observer") }
    }
    #expect(seen.places == ["transform", "completion", "late completion", "late observer"])
    #expect(seen.others(than: 1) == [])
  }

  @Test("Failed by another request: the composition's delegate and handlers see the maker")
  func failed_byAnotherRequest_handlersSeeTheMaker() async {
    let seen = SeenRequests()
    let held = HeldOperation<Int>()
    let operation = Request.with(1) {
      CompositeOperation(
        sequence: ClosureSequence { previous in
          seen.note("delegate")
          return previous == nil ? held : nil
        }
      ).recover { _ in
        seen.note("handler")
        return CompositeOperation(operations: [])
      }
    }
    await onWorker { operation.start() }
    await held.started.wait()
    await Request.elsewhere(2) { held.reject(with: TestError.first) }
    _ = await settled(operation)
    #expect(seen.places == ["delegate", "handler"])
    #expect(seen.others(than: 1) == [])
  }

  @MainActor @Test("On the main actor, after the hop")
  func onTheMainActor_seesTheMaker() async {
    let seen = SeenRequests()
    let operation = Request.with(1) { succeeding(1).map { $0 } }
    operation.addMainActorObserver { _ in seen.note("observer") }
    operation.addMainActorTreeObserver { _, _ in seen.note("tree observer") }
    operation.addMainActorCompletion { _ in seen.note("completion") }
    await Request.elsewhere(2) { operation.start() }
    #expect(await Patience.reached { seen.places == ["observer", "tree observer", "completion"] })
    #expect(seen.others(than: 1) == [])
  }

  @Test("A tree observer and a sink see, with each event, the values of its operation")
  func treeObserver_seesTheOperationOfEachEvent() async {
    let wrong = EventRecorder<String>()
    let composite = Request.with(1) {
      CompositeOperation(operations: (2...4).map { number in Request.with(number) { named("\(number)") } })
    }
    composite.name = "1"
    composite.addTreeObserver { operation, event in
      if Request.id.map({ "\($0)" }) != operation.name { wrong.record("\(operation.name ?? "?"): \(Request.current)") }
    }
    composite.report(
      to: ClosureSink { event in
        if Request.id.map({ "\($0)" }) != event.name { wrong.record("\(event.name ?? "?"): \(Request.current)") }
      })
    await Request.elsewhere(9) { composite.start() }
    _ = await settled(composite)
    #expect(wrong.events == [])
  }

  private func named(_ name: String) -> SimpleOperation<Void> {
    let operation = SimpleOperation {}
    operation.name = name
    return operation
  }

  // MARK: - No values

  @Test("Code that operations share sees nothing")
  func sharedCode_seesNothing() async {
    let seen = SeenRequests()
    var policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.microseconds(1)), jitter: .full)
    policy.randomSource = NotingGenerator(seen: seen)
    let breaker = CircuitBreaker(
      failureThreshold: 1, clock: NotingClock(seen: seen), isFailure: { _ in true },
      whenStateChanges: { _ in seen.note("whenStateChanges") })
    let operation = Request.with(1) {
      retrying(policy, clock: NotingClock(seen: seen)) { _ in failing(TestError.first).guarded(by: breaker) }
        .condition(.reachable(monitor: NotingMonitor(seen: seen)))
    }
    await Request.elsewhere(2) { operation.start() }
    _ = await settled(operation)
    #expect(seen.places == ["clock", "random source", "whenStateChanges", "monitor"])
    #expect(seen.some == [])
  }

  @Test("A completion block belongs to Foundation, which binds nothing")
  func completionBlock_seesNothing() async {
    let seen = EventRecorder<String>()
    let held = Request.with(1) { HeldOperation<Int>() }
    held.completionBlock = { seen.record(Request.current) }
    await onWorker { held.start() }
    await Request.elsewhere(2) { held.finish(with: 1) }
    await seen.wait(forCount: 1)
    #expect(seen.events == [Request.nothing])
  }

  @Test("What a caller calls itself runs with the caller's values: an overridden cancel()")
  func overriddenCancel_seesTheCaller() async {
    let seen = EventRecorder<String>()
    let operation = Request.with(1) { NotingCancel(seen) }
    await Request.elsewhere(2) { operation.cancel() }
    #expect(seen.events == ["2 tenant 2"])
  }

  // MARK: - Registered later

  private enum Late {
    @TaskLocal static var optional: Int?
    @TaskLocal static var number = 0
  }

  @Test("Made before the registration, an operation has nil, or the value that the registration saw")
  func madeBeforeTheRegistration_hasWhatTheRegistrationSaw() async {
    let seen = EventRecorder<String>()
    func make() -> SimpleOperation<Void> { SimpleOperation { seen.record("\(Late.optional ?? 0) \(Late.number)") } }
    let (early, inComposition) = Late.$optional.withValue(1) { Late.$number.withValue(1) { (make(), make()) } }
    Late.$optional.withValue(2) {
      Late.$number.withValue(2) {
        OperationContext.propagate(Late.$optional)
        OperationContext.propagate(Late.$number)
      }
    }
    let (late, composite) = Late.$optional.withValue(3) {
      Late.$number.withValue(3) { (make(), CompositeOperation(operations: [inComposition])) }
    }
    for operation in [early, late, composite] as [SettlingOperation] { await onWorker { operation.start() } }
    _ = await settled(early)
    _ = await settled(late)
    _ = await settled(composite)
    #expect(seen.events.sorted() == ["0 2", "3 2", "3 3"])
  }

  private enum Three {
    @TaskLocal static var first: Int?
    @TaskLocal static var second = 0
    @TaskLocal static var third: Int?

    static let registration: Void = {
      OperationContext.propagate($first)
      OperationContext.propagate($second)
      OperationContext.propagate($third)
    }()

    /// Binds the values whose bits are set.
    static func with<R>(_ bits: Int, _ value: Int, _ body: () -> R) -> R {
      $first.withValue(bits & 1 > 0 ? value : nil) {
        $second.withValue(bits & 2 > 0 ? value : 0) { $third.withValue(bits & 4 > 0 ? value : nil, operation: body) }
      }
    }
  }

  @Test("Of several values, each is the maker's or the composition's by itself", arguments: 0..<8)
  func severalValues_eachByItself(own: Int) async {
    Three.registration
    for outer in 0..<8 {
      let seen = EventRecorder<[Int?]>()
      @Sendable func note() { seen.record([Three.first, Three.second, Three.third]) }
      let operation = Three.with(own, 1) { SimpleOperation { note() } }
      let composite = Three.with(outer, 2) { CompositeOperation(operations: [operation]).map { _ in note() } }
      await Task.detached { Three.with(7, 3) { composite.start() } }.value
      _ = await settled(composite)
      func optional(_ bit: Int) -> Int? { own & bit > 0 ? 1 : outer & bit > 0 ? 2 : nil }
      func outermost(_ bit: Int) -> Int? { outer & bit > 0 ? 2 : nil }
      #expect(
        seen.events == [
          [optional(1), own & 2 > 0 ? 1 : 0, optional(4)], [outermost(1), outer & 2 > 0 ? 2 : 0, outermost(4)],
        ], "made with \(own), composed with \(outer)")
    }
  }

  // MARK: - Many

  @Test("Ten thousand operations of a hundred requests at once: none sees another's values")
  func manyAtOnce_eachSeesItsOwn() async {
    let wrong = EventRecorder<String>()
    await withTaskGroup(of: Void.self) { group in
      for id in 1...100 {
        group.addTask {
          let each = Request.with(id) {
            forEach(0..<100, maxConcurrent: 8) { number in
              let operation = SimpleOperation { number }.map { number in
                if Request.id != id { wrong.record("\(id): \(Request.current)") }
                return number
              }
              operation.completion = { _ in if Request.id != id { wrong.record("\(id): \(Request.current)") } }
              return operation
            }
          }
          _ = try? await each.run()
        }
      }
    }
    #expect(wrong.events == [])
  }
}

// MARK: - Code of the user

private final class CancellingWithNote: SimpleOperation<Int>, @unchecked Sendable {  // immutable
  private let seen: SeenRequests

  init(_ seen: SeenRequests) {
    self.seen = seen
    super.init()
  }

  override func main() {}

  override func didCancel() {
    seen.note("didCancel")
    settle(with: .cancelled)
  }
}

private final class NotingCancel: SimpleOperation<Int>, @unchecked Sendable {  // immutable
  private let seen: EventRecorder<String>

  init(_ seen: EventRecorder<String>) {
    self.seen = seen
    super.init()
  }

  override func cancel() {
    seen.record(Request.current)
    super.cancel()
  }
}

private struct NotingClock: Clock {
  let seen: SeenRequests

  var now: ContinuousClock.Instant {
    seen.note("clock")
    return ContinuousClock.now
  }

  var minimumResolution: Duration { .zero }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    seen.note("clock")
    try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
  }
}

private struct NotingGenerator: RandomNumberGenerator, Sendable {
  let seen: SeenRequests

  func next() -> UInt64 {
    seen.note("random source")
    return 1
  }
}

private struct NotingMonitor: ReachabilityMonitor {
  let seen: SeenRequests

  func reachability() -> AsyncStream<Bool> {
    seen.note("monitor")
    return AsyncStream { $0.yield(true) }
  }
}
