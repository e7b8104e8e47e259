import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: cancelling", .hangLimit) struct CancelTests {
  @Test func cancel_whileTheServerThinks_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let operation = HTTPOperation(request(server.url()))
      async let outcome = outcomeOfStarting(operation)
      await server.requests.wait(forCount: 1)
      operation.cancel()
      #expect(await outcome.isCancelled)
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func cancel_beforeTheStart_asksNobody() async throws {
    try await withServer { server in
      let operation = HTTPOperation(request(server.url()))
      operation.cancel()
      #expect(await outcomeOfStarting(operation).isCancelled)
      #expect(server.requests.count == 0)
    }
  }

  @Test func cancel_ofTheTaskThatRunsIt_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let task = Task { try await HTTPOperation(request(server.url())).run() }
      await server.requests.wait(forCount: 1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func timeout_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let clock = ManualClock()
      let operation = HTTPOperation(request(server.url())).timeout(.seconds(3), clock: clock)
      async let outcome = outcomeOfStarting(operation)
      await server.requests.wait(forCount: 1)
      clock.advance(by: .seconds(3))
      #expect(await outcome.error is OperationTimeout)
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func cancel_fromACompletion_ofAnotherRequest_isSafe() async throws {
    try await withServer { server in
      server.route("/quick", .ok())
      server.route("/held", HTTPAnswer.ok().held(by: Gate()))
      let held = HTTPOperation(request(server.url("/held")))
      let quick = HTTPOperation(request(server.url("/quick")))
      async let heldOutcome = outcomeOfStarting(held)
      await server.requests.wait(forCount: 1)
      quick.completion = { _ in
        held.cancel()
        held.cancel()
      }
      #expect(await outcomeOfStarting(quick).value?.status == 200)
      #expect(await heldOutcome.isCancelled)
    }
  }

  @Test func completion_thatBlocks_doesNotKeepOthersWaiting() async throws {
    try await withServer { server in
      server.route("/first", .ok())
      server.route("/second", .ok())
      let (first, second) = (
        HTTPOperation(request(server.url("/first"))), HTTPOperation(request(server.url("/second")))
      )
      let done = Gate()
      second.completion = { _ in done.open() }
      first.completion = { _ in
        second.start()
        done.waitBlocking()
      }
      #expect(await outcomeOfStarting(first).value?.status == 200)
      #expect(second.outcome?.value?.status == 200)
    }
  }

  @Test func settlingByHand_closesTheConnection_andLeavesNoFile() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .pieces([HTTPPiece("x"), HTTPPiece("y").held(by: Gate())]))
      for number in 1...2 {
        var operation: HTTPOperation? = HTTPOperation(
          request(server.url()), transfer: .download(to: folder.file("file")))
        let reference = WeakReference(operation!)
        operation!.start()
        await server.requests.wait(forCount: number)
        if number == 1 {
          operation!.finish(with: HTTPResponse(status: 299))
          #expect(operation!.outcome?.value?.status == 299)
        } else {
          operation!.reject(with: TestError("enough"))
        }
        operation = nil
        await server.abandonedRequests.wait(forCount: number)
        await untilReleased(reference)
      }
      let contents = try folder.contents()
      #expect(contents.isEmpty)
    }
  }

  @Test func settlingByHand_beforeTheStart_asksNobody() async throws {
    try await withServer { server in
      let operation = HTTPOperation(request(server.url()))
      operation.finish(with: HTTPResponse(status: 299))
      operation.start()
      server.route("/other", .ok())
      try await HTTPOperation(request(server.url("/other"))).run()
      #expect(server.count("/") == 0)
    }
  }

  @Test func operation_isReleased_whenItHasSettled() async throws {
    try await withServer { server in
      server.route("/", .ok())
      var operation: HTTPOperation? = HTTPOperation(request(server.url()))
      let reference = WeakReference(operation!)
      _ = await outcomeOfStarting(operation!)
      operation = nil
      await untilReleased(reference)
    }
  }

  @Test func operation_thatNeverStarts_isReleased() async throws {
    let reference = WeakReference(HTTPOperation(request("http://127.0.0.1:1/")))
    await untilReleased(reference)
  }
}
