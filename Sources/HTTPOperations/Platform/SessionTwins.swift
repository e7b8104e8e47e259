import CompositeOperations

#if canImport(FoundationNetworking)
import Foundation
package import FoundationNetworking

/// Sessions with the configurations of others, and a delegate of ours. They go when the others are gone.
enum SessionTwins {
  final class Twin {
    fileprivate weak var original: URLSession?
    let session: URLSession
    let relay: SessionRelay
    /// The header fields of the original's configuration, which have to be put into the requests: see HTTPExchange.
    let fields: HTTPHeaders
    /// How long a request of the original may neither send nor receive anything.
    let timeout: TimeInterval

    init(of original: URLSession) {
      self.original = original
      relay = SessionRelay()
      // What a session gives is its own, and no copy. What somebody changes there later is not for this session.
      let configuration = original.configuration.copy() as! URLSessionConfiguration
      var fields: HTTPHeaders = [:]
      for (name, value) in configuration.httpAdditionalHeaders ?? [:] { fields["\(name)"] = "\(value)" }
      self.fields = fields
      timeout = configuration.timeoutIntervalForRequest
      configuration.urlCache = nil
      configuration.timeoutIntervalForRequest = .endless
      configuration.httpAdditionalHeaders = nil
      session = URLSession(configuration: configuration, delegate: relay, delegateQueue: nil)
    }
  }

  private static let twins = LockBox<[ObjectIdentifier: Twin]>([:])

  static func twin(of original: URLSession) -> Twin {
    let key = ObjectIdentifier(original)
    if let twin = twins.withLock({ $0[key] }), twin.original === original { return twin }
    let new = Twin(of: original)
    let (twin, orphans) = twins.withLock { twins -> (Twin, [Twin]) in
      // Somebody else may have been first.
      if let twin = twins[key], twin.original === original { return (twin, [new]) }
      let orphans = twins.filter { $0.value.original == nil }
      for orphan in orphans.keys { twins[orphan] = nil }
      twins[key] = new
      return (new, Array(orphans.values))
    }
    for orphan in orphans { orphan.session.finishTasksAndInvalidate() }
    return twin
  }

  /// Ends the session that was made for another, when its tasks have ended.
  static func release(of original: URLSession) {
    let twin = twins.withLock { twins -> Twin? in
      let key = ObjectIdentifier(original)
      guard twins[key]?.original === original else { return nil }
      return twins.removeValue(forKey: key)
    }
    twin?.session.finishTasksAndInvalidate()
  }
}
#else
package import Foundation
#endif

extension URLSession {
  /// The header fields of the configuration, if they have to be put into the requests.
  var fieldsOfEveryRequest: HTTPHeaders {
    #if canImport(FoundationNetworking)
    SessionTwins.twin(of: self).fields
    #else
    [:]
    #endif
  }

  /// Invalidates the session, and the one that was made for it, when their tasks have ended.
  package func finishTasksAndInvalidateTwin() {
    #if canImport(FoundationNetworking)
    SessionTwins.release(of: self)
    #endif
    finishTasksAndInvalidate()
  }
}
