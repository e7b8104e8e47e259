import Foundation
import Testing

@testable import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: the state of a request") struct HTTPExchangeStateTests {
  private func state(
    _ method: String = "GET", url: String = "http://host/path", transfer: HTTPTransfer = .data, maxRedirects: Int = 2,
    options: HTTPOptions = HTTPOptions()
  ) -> HTTPExchangeState {
    HTTPExchangeState(
      request: request(url, method), transfer: transfer, options: options, acceptedStatuses: 200..<300,
      maxRedirects: maxRedirects)
  }

  private func answer(
    _ status: Int, _ headers: HTTPHeaders = [:], length: Int? = nil
  ) -> HTTPExchangeState.Answer {
    HTTPExchangeState.Answer(url: URL(string: "http://host/path"), status: status, headers: headers, length: length)
  }

  private func error(_ completion: HTTPExchangeState.Completion) -> (any Error)? {
    if case .fail(let error) = completion { return error }
    return nil
  }

  /// How much of how much has come; nil if no more is wanted, or it is not told.
  private func progress(_ received: HTTPExchangeState.Received) -> [Int]? {
    if case .more(let progress?) = received { return [progress.count, progress.total] }
    return nil
  }

  private func isCancelled(_ completion: HTTPExchangeState.Completion) -> Bool {
    if case .cancel = completion { return true }
    return false
  }

  @Test func body_isCollected_andItsProgressTold() throws {
    var state = state()
    #expect(state.responded(answer(200, length: 4)) == .memory(limit: .max))
    let first = state.received(Data([1]))
    let second = state.received(Data([2, 3, 4]))
    #expect(progress(first) == [1, 4] && progress(second) == [4, 4])
    guard case .succeed(let response) = state.completed(.completed, endsChallenge: false) else {
      Issue.record("has not succeeded")
      return
    }
    #expect(response.body == Data([1, 2, 3, 4]) && response.status == 200)
  }

  @Test func download_goesToTheFile_onlyIfItIsAccepted() {
    let file = URL(fileURLWithPath: "/tmp/x")
    for (status, destination) in [(200, HTTPExchangeState.Destination.file(file)), (404, .memory(limit: 1 << 20))] {
      var state = state(transfer: .download(to: file))
      #expect(state.responded(answer(status)) == destination)
    }
  }

  @Test func redirects_areFollowed_asOftenAsAllowed() {
    var state = state()
    for number in 1...2 {
      #expect(state.responded(answer(302, ["Location": "/\(number)"])) == .nowhere)
      #expect(progress(state.received(Data([1]))) == nil)
      guard case .follow = state.completed(.completed, endsChallenge: false) else {
        Issue.record("does not follow")
        return
      }
      #expect(state.request.url?.absoluteString == "http://host/\(number)")
    }
    #expect(state.responded(answer(302, ["Location": "/3"])) == .nowhere)
    #expect((error(state.completed(.completed, endsChallenge: false)) as? HTTPError)?.code == .tooManyRedirects)
  }

  @Test func cancel_goesBeforeEverything() {
    var state = state()
    _ = state.responded(answer(200))
    state.fail(HTTPError(.unwritableFile, url: nil))
    state.cancel()
    #expect(isCancelled(state.completed(.completed, endsChallenge: false)))
  }

  @Test func failureHere_goesBeforeTheSessions() {
    var state = state()
    _ = state.responded(answer(200))
    state.fail(HTTPError(.unwritableFile, url: nil))
    state.fail(HTTPError(.other, url: nil))
    let completion = state.completed(.cancelled, endsChallenge: false)
    #expect((error(completion) as? HTTPError)?.code == .unwritableFile)
  }

  @Test func cancelOfOthers_isAFailure_unlessItDeclinesAPassword() {
    for (url, code) in [("http://host", HTTPError.Code.other), ("https://host", .insecureConnection)] {
      var state = state(url: url)
      #expect((error(state.completed(.cancelled, endsChallenge: false)) as? HTTPError)?.code == code)
    }
    var state = state()
    _ = state.responded(answer(401))
    let completion = state.completed(.cancelled, endsChallenge: true)
    #expect((error(completion) as? HTTPStatusError)?.status == 401)
  }

  @Test func refusedKey_isNamed() {
    let pin = Data(repeating: 1, count: 32).base64EncodedString()
    for (url, isPinned) in [("https://host/path", true), ("https://other/path", false)] {
      var state = state(url: url, options: HTTPOptions(pinnedKeys: ["host": [pin]]))
      let failure = error(state.completed(.cancelled, endsChallenge: false)) as? HTTPError
      #expect(failure?.code == .insecureConnection)
      #expect(failure?.description.contains("the server's key is none of the pinned ones") == isPinned, "\(url)")
      #expect(failure?.description.contains("the session was invalidated") == true, "\(url)")
    }
  }

  @Test func lessThanPromised_isCutShort_exceptWhereNothingComes() {
    for (method, status, isCut) in [("GET", 200, true), ("HEAD", 200, false), ("GET", 304, false), ("GET", 204, false)]
    {
      var state = state(method)
      _ = state.responded(answer(status, length: 4))
      let code = (error(state.completed(.completed, endsChallenge: false)) as? HTTPError)?.code
      #expect((code == .truncatedBody) == isCut, "\(method) \(status)")
    }
  }

  @Test func errors_meanAnotherThing_onceThereIsAnAnswer() {
    for (code, before, after) in [
      (URLError.Code.networkConnectionLost, HTTPError.Code.connectionLost, HTTPError.Code.truncatedBody),
      (.timedOut, .timedOut, .timedOut), (.unsupportedURL, .malformedAnswer, .truncatedBody),
      (.cannotFindHost, .hostNotFound, .hostNotFound), (.badServerResponse, .connectionLost, .truncatedBody),
    ] {
      var state = state()
      #expect((error(state.completed(.threw(URLError(code)), endsChallenge: false)) as? HTTPError)?.code == before)
      _ = state.responded(answer(200))
      #expect((error(state.completed(.threw(URLError(code)), endsChallenge: false)) as? HTTPError)?.code == after)
    }
  }
}
