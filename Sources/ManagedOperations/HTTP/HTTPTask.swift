public import CompositeOperations
public import HTTPOperations

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A request as a task of an ``OperationManager``: interceptors can change it, reactors can have it
/// made again.
///
/// ```swift
/// let http = HTTPManager(interceptors: [
///   .intercepting(HTTPTask.self) { task, _ in
///     task.headers["Authorization"] = "Bearer \(await session.token)"
///     return .execute
///   }
/// ])
/// let page = try await http.operations.run(HTTPTask(URLRequest(url: url)))
/// ```
///
/// Each attempt is an `HTTPOperation`, which says what the task's value and its errors are.
public struct HTTPTask: ManagedTask {
  /// The answer.
  public typealias Value = HTTPResponse

  /// The request. It is sent as the interceptors leave it, with ``headers``. A body stream serves
  /// one attempt; a task that may be made again has its body in ``transfer``, as
  /// `HTTPTransfer.upload`.
  public var request: URLRequest
  /// What travels with it.
  public var transfer: HTTPTransfer
  /// The session it is made in. Nil: that of the ``HTTPManager`` it is added to, or else
  /// `URLSession.shared`.
  public var session: URLSession?
  /// The statuses that are a success; nil accepts all. Others fail the attempt with
  /// `HTTPStatusError`.
  public var acceptedStatuses: Range<Int>?
  /// How many redirects are followed. Not negative; else the task traps when it executes.
  public var maxRedirects: Int
  /// Header fields that replace those of the request. Prefer them for values that come from
  /// elsewhere, such as tokens: a line break in one fails the attempt with `HTTPError`, where
  /// `URLRequest` on Linux leaves the field out silently. The options say which of them are secret
  /// besides `Authorization` and the like.
  public var headers: HTTPHeaders
  /// The limits, secrets and trusted servers. Nil: those of the ``HTTPManager`` it is added to, or
  /// else `HTTPOptions()`.
  public var options: HTTPOptions?
  /// How long an attempt may execute. Nil for as long as the request's own timeout allows, which
  /// begins anew with everything that is sent or received, and the `totalTime` of the options.
  public var timeout: Duration?

  /// The fields that `.headers` has set, the first one first.
  private var addedFields: [AddedField] = []
  /// Keeps the session of a manager from being closed.
  var sessionOwner: SessionOwner?

  /// Makes a task from a request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - transfer: what travels with it.
  ///   - session: the session it is made in. Nil: that of the ``HTTPManager`` it is added to, or
  ///     else `URLSession.shared`.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all.
  ///   - maxRedirects: how many redirects are followed.
  ///   - headers: header fields that replace those of the request; a mistake in one fails the
  ///     attempt.
  ///   - options: the limits, secrets and trusted servers. Nil: those of the ``HTTPManager`` it is
  ///     added to, or else `HTTPOptions()`.
  ///   - timeout: how long an attempt may execute; nil for as long as the request's timeout and the
  ///     options allow.
  public init(
    _ request: URLRequest, transfer: HTTPTransfer = .data, session: URLSession? = nil,
    acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20, headers: HTTPHeaders = [:],
    options: HTTPOptions? = nil, timeout: Duration? = nil
  ) {
    self.request = request
    self.transfer = transfer
    self.session = session
    self.acceptedStatuses = acceptedStatuses
    self.maxRedirects = maxRedirects
    self.headers = headers
    self.options = options
    self.timeout = timeout
  }

  /// Makes the request of one attempt.
  public func makeOperation() -> SimpleOperation<HTTPResponse> {
    var options = options ?? HTTPOptions()
    options.secretFields.formUnion(addedFields.map(\.name))
    return HTTPOperation(
      request, transfer: transfer, session: session ?? .shared, acceptedStatuses: acceptedStatuses,
      maxRedirects: maxRedirects, headers: headers, options: options, keeping: sessionOwner)
  }
}

/// A field that `.headers` has set, and what it has replaced.
private struct AddedField {
  let name: String
  let value: String?
  let before: (inRequest: String?, inHeaders: String?)
}

extension HTTPTask: ReinterceptedTask {
  /// Takes back what `.headers` has set: it may be an old token, and none may give another.
  mutating func willBeInterceptedAgain() {
    for index in addedFields.indices.reversed() {
      let field = addedFields[index]
      // What others have set since is theirs. It may contain the field, and so remains secret.
      guard request.value(forHTTPHeaderField: field.name) == field.value, headers[field.name] == nil else { continue }
      request.setValue(field.before.inRequest, forHTTPHeaderField: field.name)
      headers[field.name] = field.before.inHeaders
      addedFields.remove(at: index)
    }
  }

  /// Sets a field for a `.headers`. It is secret from now on.
  mutating func setField(_ name: String, to value: String) {
    let before = (request.value(forHTTPHeaderField: name), headers[name])
    request.setValue(value, forHTTPHeaderField: name)
    // It would replace the field that was just set.
    headers[name] = nil
    addedFields.append(AddedField(name: name, value: request.value(forHTTPHeaderField: name), before: before))
  }
}
