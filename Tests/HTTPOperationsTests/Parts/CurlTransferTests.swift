#if os(Linux)
import CompositeOperations
import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import HTTPOperations

@Suite("HTTP: hops that libcurl makes", .hangLimit) struct CurlTransferTests {
  /// Only hears how its hops end.
  private final class Owner: HTTPHopOwner {
    let isDownload = false
    let ends = EventRecorder<String>()

    func responded(_ answer: HTTPExchangeState.Answer, from hop: any HTTPHop) -> DiskQueue? { nil }
    func received(_ data: Data, from hop: any HTTPHop) -> Bool { true }
    func sent(_ count: Int, of total: Int, by hop: any HTTPHop) {}
    func idled(for time: Duration, _ hop: any HTTPHop) {}
    func stop(_ hop: any HTTPHop) {}
    func ended(_ end: HTTPHopEnd, by hop: any HTTPHop, endsChallenge: Bool) { ends.record("\(end)") }
  }

  /// The check of either does not see the other.
  @Test func stream_thatAnotherRequestTook_sinceBothWereChecked_isNotSent() async {
    let put = request("http://127.0.0.1:1/", "PUT") { $0.httpBodyStream = InputStream(data: Data("body".utf8)) }
    let state = HTTPExchangeState(
      request: put, transfer: .data, options: HTTPOptions(), acceptedStatuses: nil, maxRedirects: 0)
    #expect(HTTPRequestCheck.mistake(in: state, sessionIdentifier: nil) == nil)
    #expect(CurlConnections.isAvailable)
    do {
      let (owner, settings) = (Owner(), CurlSettings(of: .ephemeral))
      let hops = (0..<2).map { _ in
        CurlTransfer(put, uploading: nil, options: HTTPOptions(), idleTimer: nil, in: settings, for: owner)
      }
      hops[1].resume()
      await owner.ends.wait(forCount: 1)
      #expect(owner.ends.events[0].contains("invalidRequest"), "\(owner.ends.events)")
      #expect(HTTPRequestCheck.mistake(in: state, sessionIdentifier: nil) != nil)
      withExtendedLifetime(hops) {}
    }
    // None of them has read it.
    await until(HTTPRequestCheck.mistake(in: state, sessionIdentifier: nil) == nil)
  }
}
#endif
