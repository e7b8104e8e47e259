#if os(Linux) || os(Android)
import CompositeOperationsCurl
import Dispatch

/// What libcurl waits for: its sockets, and a time.
///
/// One Dispatch source stands for all sockets.
final class CurlSockets: @unchecked Sendable {  // touched on the queue alone
  typealias Act = @Sendable (_ descriptor: Int32, _ events: Int32) -> Void
  /// What libcurl is told in place of a socket when the time is over.
  static let timeout: Int32 = -1

  private let waiter: Int32
  private let source: any DispatchSourceRead
  private let timer: any DispatchSourceTimer
  private var act: Act?

  /// Nil if the process cannot open more files.
  init?(on queue: DispatchQueue) {
    let waiter = composite_operations_curl_waiter_open()
    guard waiter >= 0 else { return nil }
    self.waiter = waiter
    source = DispatchSource.makeReadSource(fileDescriptor: waiter, queue: queue)
    timer = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler { [weak self] in self?.actOnSockets() }
    source.setCancelHandler { composite_operations_curl_waiter_close(waiter) }
    timer.setEventHandler { [weak self] in self?.act?(CurlSockets.timeout, 0) }
    timer.schedule(deadline: .distantFuture)
    source.resume()
    timer.resume()
  }

  deinit {
    source.cancel()
    timer.cancel()
  }

  /// Makes a multi handle call this as long as that exists.
  func serve(_ multi: UnsafeMutableRawPointer, _ act: @escaping Act) {
    self.act = act
    composite_operations_curl_multi_set_callbacks(
      multi,
      { _, descriptor, what, context, _ in
        composite_operations_curl_waiter_watch(CurlSockets.from(context).waiter, descriptor, what)
        return 0
      },
      { _, milliseconds, context in
        CurlSockets.from(context).setTimer(milliseconds)
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Ends the work.
  func stop() { act = nil }

  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlSockets {
    Unmanaged.fromOpaque(context!).takeUnretainedValue()
  }

  private func setTimer(_ milliseconds: Int) {
    timer.schedule(deadline: milliseconds < 0 ? .distantFuture : .now() + .milliseconds(milliseconds))
  }

  /// Remaining events call this again.
  private func actOnSockets() {
    withUnsafeTemporaryAllocation(of: CompositeOperationsCurlEvent.self, capacity: 64) { events in
      let count = composite_operations_curl_waiter_take(waiter, events.baseAddress!, Int32(events.count))
      for event in events.prefix(Int(count)) { act?(event.descriptor, event.events) }
    }
  }
}
#endif
