import CompositeOperations

#if canImport(FoundationNetworking)
import Foundation
package import FoundationNetworking
#else
package import Foundation
#endif

/// What makes requests in place of the program's sessions. A twin is released when its session is
/// gone.
///
/// On Linux a twin is libcurl, or a session with a delegate of this library. On Apple platforms it
/// is a session for requests that the original would make wrong: see ``TwinSession``. It is
/// released when the next twin is made, at the latest. Until then it is idle, and retains only the
/// configuration of the original.
enum SessionTwins {
  final class Twin {
    fileprivate weak var original: URLSession?
    #if canImport(FoundationNetworking)
    let transport: Transport
    /// The header fields of the original's configuration, which the exchange adds to requests.
    let fields: HTTPHeaders
    /// How long a request of the original may neither send nor receive anything.
    let timeout: TimeInterval
    #else
    private let sessions = LockBox<[TwinSession: URLSession]>([:])
    #endif

    init(of original: URLSession) {
      self.original = original
      #if canImport(FoundationNetworking)
      // A session returns its own configuration, and no copy. Later changes to that are not for
      // this twin.
      let configuration = original.configuration.copy() as! URLSessionConfiguration
      fields = configuration.fieldsOfEveryRequest
      timeout = configuration.timeoutIntervalForRequest
      transport = Transport(configuration)
      #endif
    }

    #if !canImport(FoundationNetworking)
    func session(_ kind: TwinSession, of original: URLSession) -> URLSession {
      sessions.withLock { sessions in
        if let session = sessions[kind] { return session }
        let session = kind.session(insteadOf: original)
        sessions[kind] = session
        return session
      }
    }
    #endif

    /// Invalidates it when its requests have ended.
    fileprivate func finish() {
      #if canImport(FoundationNetworking)
      if case .session(let session, _) = transport { session.finishTasksAndInvalidate() }
      #else
      for session in sessions.withLock({ $0.values }) { session.finishTasksAndInvalidate() }
      #endif
    }
  }

  private static let twins = LockBox<[ObjectIdentifier: Twin]>([:])

  static func twin(of original: URLSession) -> Twin {
    let key = ObjectIdentifier(original)
    if let twin = twins.withLock({ $0[key] }), twin.original === original { return twin }
    let new = Twin(of: original)
    let (twin, orphans, alive) = twins.withLock { twins -> (Twin, [Twin], [URLSession]) in
      // Another thread may have been first.
      if let twin = twins[key], twin.original === original { return (twin, [new], []) }
      var orphans: [Twin] = [], alive: [URLSession] = []
      for (id, twin) in twins {
        if let session = twin.original {
          alive.append(session)
        } else {
          orphans.append(twin)
          twins[id] = nil
        }
      }
      twins[key] = new
      return (new, orphans, alive)
    }
    // Not under the lock: the last reference to a session may be here, and code of the user runs
    // when it is released.
    withExtendedLifetime(alive) {}
    for orphan in orphans { orphan.finish() }
    return twin
  }

  /// Invalidates the twin of a session when its requests have ended.
  static func release(of original: URLSession) {
    let twin = twins.withLock { twins -> Twin? in
      let key = ObjectIdentifier(original)
      guard twins[key]?.original === original else { return nil }
      return twins.removeValue(forKey: key)
    }
    twin?.finish()
  }
}

#if canImport(FoundationNetworking)
extension SessionTwins {
  /// What makes requests on Linux.
  enum Transport {
    case curl(CurlSettings)
    /// Where libcurl cannot be found, as in a fully static program; and for sessions with protocols
    /// of the program's own, which make the requests.
    case session(URLSession, SessionRelay)

    init(_ configuration: URLSessionConfiguration) {
      let protocols = configuration.protocolClasses ?? []
      let areFoundations = protocols.allSatisfy { String(reflecting: $0).hasPrefix("FoundationNetworking.") }
      if CurlConnections.isAvailable, areFoundations {
        self = .curl(CurlSettings(of: configuration))
        return
      }
      configuration.urlCache = nil
      configuration.timeoutIntervalForRequest = .endless
      configuration.httpAdditionalHeaders = nil
      let relay = SessionRelay()
      self = .session(URLSession(configuration: configuration, delegate: relay, delegateQueue: nil), relay)
    }
  }
}
#endif

extension URLSession {
  /// Whether `URLSession` itself adds the header fields of the configuration to requests. Otherwise
  /// the exchange does.
  static var addsFieldsOfConfiguration: Bool {
    #if canImport(FoundationNetworking)
    false
    #else
    true
    #endif
  }

  /// The header fields of the configuration.
  var fieldsOfEveryRequest: HTTPHeaders {
    #if canImport(FoundationNetworking)
    SessionTwins.twin(of: self).fields
    #else
    configuration.fieldsOfEveryRequest
    #endif
  }

  /// Invalidates the session and its twin when their requests have ended.
  package func finishTasksAndInvalidateTwin() {
    SessionTwins.release(of: self)
    finishTasksAndInvalidate()
  }
}

extension URLSessionConfiguration {
  fileprivate var fieldsOfEveryRequest: HTTPHeaders {
    var fields: HTTPHeaders = [:]
    for (name, value) in httpAdditionalHeaders ?? [:] { fields["\(name)"] = "\(value)" }
    return fields
  }
}
