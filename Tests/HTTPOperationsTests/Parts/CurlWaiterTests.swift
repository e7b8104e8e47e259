#if os(Linux)
import CompositeOperationsCurl
import Foundation
import Testing

/// What waits for the sockets of libcurl.
@Suite("HTTP: sockets of libcurl") struct CurlWaiterTests {
  private let waiter = composite_operations_curl_waiter_open()

  /// What has happened at a socket by now: 1 to read, 2 to write; nil if nothing.
  private func event(at descriptor: Int32) -> Int32? {
    var event = CompositeOperationsCurlEvent()
    guard composite_operations_curl_waiter_take(waiter, &event, 1) == 1, event.descriptor == descriptor else {
      return nil
    }
    return event.events
  }

  private func pair() -> (own: Int32, other: Int32) {
    var both: [Int32] = [0, 0]
    // SOCK_STREAM, whose type depends on the system's library.
    socketpair(AF_UNIX, 1, 0, &both)
    return (both[0], both[1])
  }

  /// The other side is gone, and there is more to read than one reading takes.
  @Test func socket_thatWasHungUp_isToldOfUntilAllIsRead() {
    let (own, other) = pair()
    let sent = [UInt8](repeating: 7, count: 100_000)
    #expect(write(other, sent, sent.count) == sent.count)
    // Not by closing it: a process that another test starts may have a copy for a moment.
    shutdown(other, 2)
    composite_operations_curl_waiter_watch(waiter, own, 1)
    var (count, hasEnded) = (0, false)
    var room = [UInt8](repeating: 0, count: 10_000)
    while !hasEnded, let events = event(at: own), events & 1 == 1 {
      let part = read(own, &room, room.count)
      if part > 0 { count += part } else { hasEnded = true }
    }
    #expect(hasEnded && count == sent.count)
    composite_operations_curl_waiter_close(waiter)
    close(own)
    close(other)
  }

  @Test func number_thatAnotherSocketTakes_isWatchedAnew() {
    let (first, firstOther) = pair()
    composite_operations_curl_waiter_watch(waiter, first, 1)
    let (second, secondOther) = pair()
    // As libcurl does it: closed, without a word, and the next socket has its number.
    #expect(dup2(second, first) == first)
    composite_operations_curl_waiter_watch(waiter, first, 3)
    #expect(write(secondOther, [1], 1) == 1)
    #expect(event(at: first) == 3)
    composite_operations_curl_waiter_watch(waiter, first, 4)
    #expect(event(at: first) == nil)
    for descriptor in [first, firstOther, second, secondOther] { close(descriptor) }
    composite_operations_curl_waiter_close(waiter)
  }
}
#endif
