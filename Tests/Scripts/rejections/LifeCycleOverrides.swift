// Overriding the life cycle makes operations that never end.
import CompositeOperations
import Foundation

final class Starting: SimpleOperation<Int>, @unchecked Sendable {
  override func start() { main() }  // error: overriding non-open instance method
}

final class Announcing: SimpleOperation<Int>, @unchecked Sendable {
  override var isExecuting: Bool { true }  // error: overriding non-open property
  override var isFinished: Bool { true }  // error: overriding non-open property
  override var isReady: Bool { true }  // error: overriding non-open property
  override var isCancelled: Bool { false }  // error: overriding non-open property
  override var isAsynchronous: Bool { false }  // error: overriding non-open property
}

final class Composing: CompositeOperation, @unchecked Sendable {
  override func start() { main() }  // error: overriding non-open instance method
  override var isFinished: Bool { true }  // error: overriding non-open property
}
