import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSession {
  /// Makes a hop that has not been resumed.
  func hop(
    _ request: URLRequest, uploading upload: HTTPUpload?, to place: HTTPHopPlace, options: HTTPOptions,
    for exchange: any HTTPHopOwner
  ) -> any HTTPHop {
    #if canImport(FoundationNetworking)
    let twin = SessionTwins.twin(of: self)
    let idleTimer = IdleTimer(for: request, sessionTimeout: twin.timeout)
    switch twin.transport {
    case .curl(let settings):
      return CurlTransfer(
        request, uploading: upload, options: options, idleTimer: idleTimer, in: settings, for: exchange)
    case .session(let session, let relay):
      return SessionTask(request, uploading: upload, idleTimer: idleTimer, in: session, relay: relay, for: exchange)
    }
    #else
    let kind = TwinSession(for: request, to: place, options: options, in: self)
    let session = kind.map { SessionTwins.twin(of: self).session($0, of: self) } ?? self
    return SessionTask(request, uploading: upload, in: session, for: exchange)
    #endif
  }

  /// Whether it can be told which keys a server has to prove.
  var looksAtKeys: Bool {
    #if canImport(FoundationNetworking)
    if case .curl = SessionTwins.twin(of: self).transport { true } else { false }
    #else
    true
    #endif
  }
}
