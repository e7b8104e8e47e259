import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

@Suite("Task-local values of requests", .hangLimit)
struct ContextTests {
  @Test func request_settledByTheNetwork_showsTheValuesOfItsMaker() async throws {
    let seen = SeenRequests()
    try await withServer { server in
      server.route("/", .ok("text"))
      let operation = Request.with(1) { HTTPOperation(request(server.url())) }
      operation.completion = { _ in seen.note("completion") }
      operation.addObserver { _ in seen.note("observer") }
      let next = Request.with(1) { operation.map { _ in seen.note("transform") } }
      await Request.elsewhere(2) { next.start() }
      _ = await settled(next)
    }
    #expect(seen.places == ["completion", "observer", "transform"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func request_cancelledByAnother_showsTheValuesOfItsMaker() async throws {
    let seen = SeenRequests()
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let operation = Request.with(1) { HTTPOperation(request(server.url())) }
      operation.onCancel = { seen.note("onCancel") }
      operation.completion = { _ in seen.note("completion") }
      await Request.elsewhere(2) { operation.start() }
      await server.requests.wait(forCount: 1)
      await Request.elsewhere(3) { operation.cancel() }
      #expect(await settled(operation).isCancelled)
    }
    #expect(seen.places == ["onCancel", "completion"])
    #expect(seen.others(than: 1) == [])
  }
}
