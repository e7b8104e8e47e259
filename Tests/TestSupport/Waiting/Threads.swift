import Foundation

/// Runs `body` on a new thread with a stack of `stackSize` bytes, and returns what it returns.
public func onThread<Result: Sendable>(
  stackSize: Int = 512 * 1024, _ body: @escaping @Sendable () -> Result
) async -> Result {
  await withCheckedContinuation { continuation in
    let thread = Thread { continuation.resume(returning: body()) }
    thread.stackSize = stackSize
    thread.start()
  }
}

/// Runs `body` on a dispatch worker, where it may block, and returns what it returns.
public func onWorker<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(returning: body()) }
  }
}
