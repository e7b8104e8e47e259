import Foundation

/// Calls `body` with numbers from 0 on `count` threads at once, and waits until all have returned.
/// With a count of one it uses this thread.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  guard count > 1 else { return body(0) }
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    let thread = Thread {
      body(number)
      group.leave()
    }
    thread.start()
  }
  group.wait()
}
