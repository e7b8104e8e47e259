import CompositeOperations

/// A result for which a task waits. It goes through a lock and a checked continuation: if a result
/// arrives before its task waits, ThreadSanitizer takes the use of that task's memory by an
/// unchecked continuation for a race.
final class Reply<Value: Sendable>: Sendable {
  private let result = LockBox<Result<Value, any Error>?>(nil)

  func give(_ result: Result<Value, any Error>, resuming waiter: CheckedContinuation<Void, Never>) {
    self.result.withLock { $0 = result }
    waiter.resume()
  }

  func take() throws -> Value {
    guard let result = result.withLock({ $0.take() }) else {
      preconditionFailure("A task goes on before it was given what it waits for")
    }
    return try result.get()
  }
}
