#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Misuse of pipelines", .timeLimit(.minutes(30)))
struct MisuseTests {
  @Test func weight_ofLessThanNothing_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Add(1).named("sum").weighted(-1)
    }
    try expect(result, says: "The pipeline step “sum” was given a weight of -1.0", "not negative")
  }

  @Test func weight_ofAStepOfOnesOwn_thatIsNoNumber_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      struct Odd: PipelineStep {
        var stepWeight: Double { .nan }
        func operation(for input: Int) -> SimpleOperation<Int> { succeeding(input) }
      }
      _ = Pipeline(Add(1)).then(Odd())
    }
    try expect(result, says: "The pipeline step “Odd” has a weight of nan", "finite")
  }

  @Test func negativeNumberOfRedirects_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = LoadURL(maxRedirects: -1)
    }
    try expect(result, says: "LoadURL was given -1 redirects to follow", "Use 0 to follow none")
  }

  @Test func timeout_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Add(1).timeout(.zero)
    }
    try expect(result, says: "The pipeline step “Add” was given a timeout of 0", "Use a positive one")
  }

  @Test func mapElements_ofZeroAtATime_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = MapElements(maxConcurrent: 0, Add(1))
    }
    try expect(result, says: "maxConcurrent of MapElements was set to 0", "positive number")
  }

  @Test func asyncClosure_whoseValueIsAnOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Pipeline(Add(1)).then { number in
        await Task.yield()
        return Doubling(number)
      }
    }
    try expect(
      result, says: "Transform got a closure whose value is an operation, or holds some (Doubling)", "then(_:)")
  }

  @Test func transform_whoseValueIsAnOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Transform<Int, Doubling> { Doubling($0) }
    }
    try expect(result, says: "Transform got a closure whose value is an operation, or holds some (Doubling)")
  }
}
#endif
