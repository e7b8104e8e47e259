import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A transport that never ends a request: the operation ends all the same, as soon as it promises.
@Suite("HTTP: transports that do not end a request", .hangLimit) struct StuckHopTests {
  /// A hop that is never answered, and does not end when it is cancelled.
  private final class StuckHop: HTTPHop {
    let resumed = Gate()
    let cancelled = Gate()

    func resume() { resumed.open() }
    func cancel() { cancelled.open() }
  }

  private let clock = ManualClock()
  private let hop = StuckHop()

  /// What the documentation of `HTTPOperation` promises.
  private let promised = ManualClock.Instant(offset: .milliseconds(50))

  private func operation(totalTime: Duration = .seconds(300)) -> HTTPOperation {
    let request = request("http://127.0.0.1:1/")
    return HTTPOperation(request, exchange(for: request, totalTime: totalTime))
  }

  private func exchange(for request: URLRequest, totalTime: Duration = .seconds(300)) -> HTTPExchange {
    let state = HTTPExchangeState(
      request: request, transfer: .data, options: HTTPOptions(totalTime: totalTime), acceptedStatuses: 200..<300,
      maxRedirects: 0)
    return HTTPExchange(
      state, session: .shared, clock: .of(clock), opening: { try FileHandle(forWritingTo: $0) },
      substitute: { [hop] in hop })
  }

  @Test("Cancelled, or out of time, before there is a hop, which is the same between two", arguments: [true, false])
  func end_beforeAHop_sendsNothing(isCancelled: Bool) async throws {
    let request = request("http://127.0.0.1:1/")
    let exchange = exchange(for: request)
    let operation = HTTPOperation(request, exchange)
    if isCancelled { exchange.cancel() } else { exchange.timeIsOver(.seconds(3)) }
    operation.start()
    let outcome = await settled(operation)
    #expect(outcome.isCancelled == isCancelled && (outcome.httpError?.code == .timedOut) != isCancelled)
    #expect(!hop.resumed.isOpen)
    #expect(clock.nextDeadline == nil)
  }

  @Test func cancel_settles_withoutTheTransport_asSoonAsPromised() async throws {
    let operation = operation()
    operation.start()
    await hop.resumed.wait()
    operation.cancel()
    #expect(hop.cancelled.isOpen)
    let deadline = try #require(clock.nextDeadline)
    #expect(deadline <= promised, "\(deadline)")
    // The transport is given this time; the clock stands still until then.
    #expect(operation.outcome == nil)
    clock.advance(to: deadline)
    #expect(await settled(operation).isCancelled)
  }

  @Test func totalTime_thatIsOver_settles_withoutTheTransport() async throws {
    let operation = operation(totalTime: .seconds(3))
    operation.start()
    await hop.resumed.wait()
    #expect(clock.nextDeadline == ManualClock.Instant(offset: .seconds(3)))
    clock.advance(by: .seconds(3))
    await hop.cancelled.wait()
    await clock.waitForSleeper(dueIn: promised.offset)
    #expect(operation.outcome == nil)
    clock.advance(by: promised.offset)
    #expect(await settled(operation).httpError?.code == .timedOut)
  }

  @Test func settlingByHand_releasesTheOperation_withoutTheTransport() async throws {
    var operation: HTTPOperation? = operation()
    let reference = WeakReference(operation!)
    operation!.start()
    await hop.resumed.wait()
    operation!.finish(with: HTTPResponse(status: 299))
    await hop.cancelled.wait()
    await clock.waitForSleeper(dueIn: promised.offset)
    clock.advance(by: promised.offset)
    operation = nil
    await untilReleased(reference)
  }
}
