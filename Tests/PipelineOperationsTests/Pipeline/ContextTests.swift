import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Task-local values of pipelines", .timeLimit(.minutes(30)))
struct ContextTests {
  init() { Request.registration }

  @Test func steps_haveTheValuesOfOperationFor() async throws {
    let seen = SeenRequests()
    let pipeline = Request.with(9) {
      Pipeline(
        Transform { (number: Int) -> Int in
          seen.note("transform")
          return number
        }
      ).then { number async -> Int in
        seen.note("async transform")
        return number
      }.then { number in
        seen.note("closure")
        return SimpleOperation<Int> {
          seen.note("body")
          return number
        }
      }.then(Tee { _ in seen.note("tee") })
        .then(Transform { (number: Int) -> [Int] in [number, number] }.retrying())
        .then(
          MapElements(maxConcurrent: 2) { (number: Int) -> Int in
            seen.note("element")
            return number
          })
    }
    let operation = Request.with(1) { pipeline.operation(for: 1) }
    operation.completion = { _ in seen.note("completion") }
    await Request.elsewhere(2) { operation.start() }
    #expect(await settled(operation).value == [1, 1])
    #expect(
      seen.places == ["transform", "async transform", "closure", "body", "tee", "element", "completion"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func oneOperationForEachRequest_eachSeesItsOwn() async throws {
    let wrong = EventRecorder<String>()
    let pipeline = Pipeline(
      Transform { (request: Int) -> Int in
        if Request.id != request { wrong.record("\(request): \(Request.current)") }
        return request
      }
    ).then { request async -> Int in
      if Request.id != request { wrong.record("\(request): \(Request.current)") }
      return request
    }
    await withTaskGroup(of: Void.self) { group in
      for id in 1...100 { group.addTask { _ = try? await Request.with(id) { try await pipeline.run(id) } } }
    }
    #expect(wrong.events == [])
  }
}
