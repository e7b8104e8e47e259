import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Failures of pipelines", .timeLimit(.minutes(30)))
struct FailureTests {
  @Test func failure_tellsTheStepByNameAndIndex() async throws {
    let pipeline = Pipeline(Add(1)).then(Transform { (_: Int) -> Int in throw TestError.first }.named("break"))
      .then(Add(2)).named("numbers")
    let error = try await outcome(of: pipeline, for: 1).stepError
    #expect(error?.pipelineName == "numbers" && error?.stepName == "break" && error?.stepIndex == 1)
    #expect(error?.cause as? TestError == .first)
    #expect(error?.localizedDescription == "Step 1 “break” of the pipeline “numbers” failed: test error first")
  }

  @Test func step_thatThrowsInsteadOfMakingAnOperation_failsInTheSameWay() async throws {
    struct Refusing: PipelineStep {
      func operation(for input: Int) throws -> SimpleOperation<Int> { throw TestError.second }
    }
    let error = try await outcome(of: Add(1).then(Refusing()), for: 1).stepError
    #expect(error?.pipelineName == nil && error?.stepName == "Refusing" && error?.stepIndex == 1)
    #expect(error?.cause as? TestError == .second)
    #expect(error.map { "\($0)" } == "Step 1 “Refusing” of a pipeline failed: test error second")
  }

  @Test func firstStep_thatFails_hasIndexZero() async throws {
    let pipeline = Pipeline(of: Int.self).then { _ in failing(TestError.first) }.then(Add(1))
    #expect(try await outcome(of: pipeline, for: 1).stepError?.stepIndex == 0)
  }

  @Test func nestedPipelines_tellEachStep_andTheErrorOfTheInnermost() async throws {
    let inner = Pipeline(Add(1)).then { (_: Int) -> Int in throw TestError.first }.named("inner")
    let outer = Pipeline(Add(1)).then(Add(1)).then(inner).named("outer")
    let error = try #require(try await outcome(of: outer, for: 1).stepError)
    #expect(error.stepName == "inner" && error.stepIndex == 2)
    #expect(error.cause as? TestError == .first)
    #expect(
      "\(error)" == "Step 2 “inner” of the pipeline “outer” failed: "
        + "Step 1 “Transform” of the pipeline “inner” failed: test error first")
  }

  @Test func failure_withFailuresOfItsOwn_setsThemBelow() async throws {
    let pipeline = Pipeline(of: Int.self).then { _ in
      let composite = CompositeOperation(operations: [failing(TestError.first), failing(TestError.second)])
      // Otherwise the second may fail, too, before the failure of the first has cancelled it.
      composite.failurePolicy = .waitForAll
      return composite
    }.named("numbers")
    let error = try #require(try await outcome(of: pipeline, for: 1).stepError)
    let lines = "\(error)".split(separator: "\n")
    #expect(lines.first?.hasPrefix("Step 0 “") == true)
    #expect(lines.first?.hasSuffix("” of the pipeline “numbers” failed: 2 operations failed") == true)
    #expect(lines.dropFirst().prefix(2) == ["  [0]: \(TestError.first)", "  [1]: \(TestError.second)"])
  }

  @Test func failure_throughManyPipelines_isBounded() async throws {
    var pipeline = Pipeline(of: Int.self).then { (_: Int) -> Int in throw TestError.first }.named("0")
    for level in 1..<1_000 { pipeline = Pipeline(Add(0)).then(pipeline).named("\(level)") }
    let error = try #require(try await outcome(of: pipeline, for: 1).stepError)
    #expect("\(error)".hasSuffix("further in: \(TestError.first)") && "\(error)".utf8.count < 5_000)
  }

  @Test func failure_ofPipelinesWithLongNames_isBounded() async throws {
    let name = String(repeating: "long ", count: 200_000)
    var pipeline = Pipeline(of: Int.self).then { (_: Int) -> Int in throw TestError.first }.named(name)
    for _ in 1..<100 { pipeline = Pipeline(Add(0)).then(pipeline).named(name) }
    let error = try #require(try await outcome(of: pipeline, for: 1).stepError)
    #expect(error.pipelineName == name && error.stepName == name)
    let text = "\(error)"
    #expect(text.hasPrefix("Step 1 “\(name.prefix(200))…” of the pipeline “\(name.prefix(200))…” failed: Step 1 “"))
    #expect(text.hasSuffix("further in: \(TestError.first)") && text.utf8.count < 6_000)
  }

  /// Each run fails with what the one before failed with.
  @Test func failure_ofVeryManyPipelines_isToldAndReleasedOnASmallStack() async {
    let depth = Scale.count(100_000, least: 10_000)
    let (text, cause) = await onThread(stackSize: 512 * 1024) { () -> (String, TestError?) in
      var error: any Error = TestError.first
      for _ in 0..<depth {
        let inner = error
        let operation = Pipeline(of: Int.self).then { _ in failing(inner) }.named("p").operation(for: 1)
        operation.start()
        operation.waitUntilFinished()
        error = operation.outcome?.error ?? inner
      }
      return ("\(error)", (error as? PipelineStepError)?.cause as? TestError)
    }
    #expect(text.hasSuffix("… \(depth - 40) further in: \(TestError.first)") && text.utf8.count < 5_000)
    #expect(cause == .first)
  }

  @Test func failure_runsNoFurtherStep() async throws {
    let after = HeldStep()
    let pipeline = Pipeline(Add(1)).then { _ in failing(TestError.first) }.then(after)
    #expect(try await outcome(of: pipeline, for: 1).stepError != nil && after.count == 0)
  }

  @Test func recover_goesOnWithAnotherPipeline() async throws {
    let pipeline = Pipeline(of: Int.self).then { _ in failing(TestError.first) }
    let operation = pipeline.operation(for: 1).recover { error in
      Pipeline(Add((error as? PipelineStepError)?.stepIndex ?? 9)).operation(for: 7)
    }
    #expect(try await operation.run() == 7)
  }
}
