#if os(Linux) || os(Android)
import CompositeOperations
import CompositeOperationsCurl
import Dispatch

/// The connections of one session: libcurl's transfers, driven by Dispatch on a queue of their own.
///
/// libcurl names the sockets that it waits for, and the time, and is called when something has
/// happened. No thread waits, and no transfer has its own.
final class CurlConnections: @unchecked Sendable {  // everything but what is constant is touched on the queue alone
  /// Whether libcurl was found; if not, `URLSession` makes the requests. Checked once.
  static let isAvailable: Bool = {
    let isAvailable = composite_operations_curl_load()
    #if DEBUG
    if !isAvailable {
      Diagnostics.write(
        """
        HTTPOperations: libcurl 7.66 or newer was not found in this program, so URLSession makes its requests. Some answers \
        that a server may send end the process then. Link Foundation dynamically, or talk to servers that you trust.

        """)
    }
    #endif
    return isAvailable
  }()

  let queue = DispatchQueue(label: "CompositeOperations.HTTPOperations", qos: .userInitiated)
  private var lines: CurlLines<CurlTransfer>
  private var sockets: CurlSockets?
  private var multi: CurlMulti?
  private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]

  init(maxConnectionsPerHost: Int) {
    lines = CurlLines(limit: maxConnectionsPerHost)
  }

  deinit {
    // No transfer is left, since each holds this. Closing the connections that were kept calls the
    // sockets alone.
    guard let multi else { return }
    queue.async { [sockets] in
      sockets?.stop()
      multi.close()
      withExtendedLifetime(sockets) {}
    }
  }

  // MARK: - Lines

  /// Begins a transfer when it is its turn at the server. On the queue.
  func enter(_ transfer: CurlTransfer) {
    if lines.enter(transfer, transfer.server, needsOwn: transfer.needsOwnConnection) { transfer.begin() }
  }

  /// A transfer no longer waits. Returns false if it has begun. On the queue.
  func withdraw(_ transfer: CurlTransfer) -> Bool {
    guard let next = lines.withdraw(transfer, transfer.server) else { return false }
    begin(next)
    return true
  }

  /// A transfer that was begun is over. On the queue.
  func leave(_ transfer: CurlTransfer) {
    begin(lines.leave(transfer.server, needsOwn: transfer.needsOwnConnection))
  }

  /// The server of a transfer takes many requests on one connection, or does not. On the queue.
  func setShared(_ isShared: Bool, like transfer: CurlTransfer) {
    begin(lines.setShared(isShared, transfer.server))
  }

  private func begin(_ transfers: [CurlTransfer]) {
    // Later: this may be a call of libcurl.
    for transfer in transfers { queue.async { transfer.begin() } }
  }

  // MARK: - Transfers

  /// Starts a transfer. On the queue. Returns false if libcurl does not take it.
  func add(_ transfer: CurlTransfer, _ handle: CurlHandle) -> Bool {
    guard let multi = multi ?? open() else { return false }
    transfers[handle.pointer] = transfer
    guard composite_operations_curl_multi_add(multi.pointer, handle.pointer) == 0 else {
      transfers[handle.pointer] = nil
      return false
    }
    return true
  }

  /// Ends a transfer, and closes its connection if it is in use. On the queue, and not inside a
  /// call of libcurl's.
  func remove(_ handle: CurlHandle) {
    guard transfers.removeValue(forKey: handle.pointer) != nil, let multi else { return }
    composite_operations_curl_multi_remove(multi.pointer, handle.pointer)
  }

  /// Pauses and resumes directions of a transfer. On the queue, and not inside a call of libcurl's.
  func go(on handle: CurlHandle, _ pauses: CurlPauses) {
    guard transfers[handle.pointer] != nil else { return }
    _ = composite_operations_curl_easy_pause(handle.pointer, pauses.bits)
    // An older libcurl does not say that it has something to do now.
    act(CurlSockets.timeout, 0)
  }

  private func open() -> CurlMulti? {
    guard let sockets = sockets ?? CurlSockets(on: queue), let pointer = composite_operations_curl_multi_init() else {
      return nil
    }
    self.sockets = sockets
    let multi = CurlMulti(pointer: pointer)
    sockets.serve(pointer) { [weak self] descriptor, events in self?.act(descriptor, events) }
    self.multi = multi
    return multi
  }

  private func act(_ descriptor: Int32, _ events: Int32) {
    guard let multi else { return }
    composite_operations_curl_multi_socket_action(multi.pointer, descriptor, events)
    var code: Int32 = 0
    while let ended = composite_operations_curl_multi_next_ended(multi.pointer, &code) {
      guard let transfer = transfers.removeValue(forKey: ended) else { continue }
      composite_operations_curl_multi_remove(multi.pointer, ended)
      transfer.ended(CurlResult(code: code))
    }
  }
}

/// libcurl's handle of many transfers.
private struct CurlMulti: @unchecked Sendable {  // used on the queue alone
  let pointer: UnsafeMutableRawPointer

  func close() {
    composite_operations_curl_multi_cleanup(pointer)
  }
}
#endif
