import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

/// What comes after a step may be a step or one of three kinds of closures, and the compiler tells
/// them apart.
@Suite("Forms of then", .timeLimit(.minutes(30)))
struct ThenFormsTests {
  @Sendable private static func doubled(_ number: Int) -> Int { 2 * number }
  @Sendable private static func slowlyDoubled(_ number: Int) async -> Int { 2 * number }
  @Sendable private static func makeDoubling(_ number: Int) -> Doubling { Doubling(number) }

  @Test func then_withStep_passesItsValue() async throws {
    let pipeline = Pipeline(Add(1)).then(Add(2)).then(Add(3))
    #expect(try await pipeline.run(1) == 7)
  }

  @Test func then_withClosureOfOneExpression_isATransform() async throws {
    let pipeline: Pipeline<Int, String> = Pipeline(Add(1)).then { $0 * 10 }.then { "\($0)" }
    #expect(try await pipeline.run(1) == "20")
    #expect(pipeline.stepNames == ["Add", "Transform", "Transform"])
  }

  @Test func then_withKeyPath_isATransform() async throws {
    let pipeline = Pipeline(of: [Int].self).then(\.count)
    #expect(try await pipeline.run([1, 2, 3]) == 3)
  }

  @Test func then_withThrowingClosureOfSeveralStatements_isATransform() async throws {
    let pipeline = Pipeline(Add(1)).then { number -> String in
      guard number > 0 else { throw TestError.first }
      let text = "\(number)"
      return text + "!"
    }
    #expect(try await pipeline.run(1) == "2!")
    #expect(try await outcome(of: pipeline, for: -1).stepError?.cause as? TestError == .first)
  }

  @Test func then_withAwaitInTheClosure_isAsyncWork() async throws {
    let pipeline = Pipeline(Add(1)).then { await ThenFormsTests.slowlyDoubled($0) }.then { number in
      let more = await ThenFormsTests.slowlyDoubled(number)
      return more + 1
    }
    #expect(try await pipeline.run(1) == 9)
  }

  @Test func then_withClosureThatMakesAnOperation_runsIt() async throws {
    let pipeline: Pipeline<Int, Int> = Pipeline(Add(1)).then { Doubling($0) }.then { number in
      let doubled = 2 * number
      return succeeding(doubled)
    }
    #expect(try await pipeline.run(1) == 8)
  }

  @Test func then_withFunctions_tellsThemApart() async throws {
    let pipeline: Pipeline<Int, Int> = Pipeline(Add(1)).then(ThenFormsTests.doubled).then(ThenFormsTests.slowlyDoubled)
      .then(ThenFormsTests.makeDoubling)
    #expect(try await pipeline.run(1) == 16)
  }

  @Test func then_withOtherComposableOperations_runsThem() async throws {
    let composite = Pipeline(Add(1)).then { number in
      CompositeOperation(operations: [succeeding(number), succeeding(number + 1)])
    }.then { $0.count }
    #expect(try await composite.run(1) == 2)
    let own = Pipeline(Add(1)).then { number in ConformingOperation { .success(number) } }
    #expect(try await own.run(1) == 2)
  }

  @Test func then_onAnyStep_beginsAPipeline() async throws {
    let pipeline: Pipeline<Int, String> = Add(1).then(Add(2)).then { "\($0)" }
    #expect(try await pipeline.run(1) == "4" && pipeline.stepNames.count == 3)
  }

  @Test func then_withAnExistential_runsIt() async throws {
    let steps: [any PipelineStep<Int, Int>] = [Add(1), Transform { 3 * $0 }, Pipeline(Add(2)).then(Add(3))]
    let pipeline = steps.reduce(Pipeline(of: Int.self)) { $0.then($1) }
    #expect(try await pipeline.run(1) == 11)
  }

  @Test func then_withVoid_flows() async throws {
    let pipeline: Pipeline<Void, Int> = Pipeline(of: Void.self).then { 7 }
    #expect(try await pipeline.run() == 7)
    let silent: Pipeline<Int, Void> = Pipeline(Add(1)).then { _ in }
    try await silent.run(1)
  }

  @Test("Nested optionals keep their levels") func then_withOptionals_keepsTheLevels() async throws {
    let inner: Int?? = .some(.none)
    let pipeline = Pipeline(of: Int??.self).then { $0 }.then { value -> Bool in
      if case .some(.none) = value { return true }
      return false
    }
    #expect(try await pipeline.run(inner))
    #expect(try await !pipeline.run(.none))
  }

  @Test func operation_thatHasBeenStarted_isWaitedFor() async throws {
    let shared = HeldOperation<Int>()
    shared.start()
    let pipeline = Pipeline(Add(1)).then { _ in shared }
    let run = pipeline.operation(for: 1)
    run.start()
    shared.finish(with: 5)
    #expect(await settled(run).value == 5)
    #expect(try await pipeline.run(2) == 5)
    #expect(shared.name == nil)
  }
}
