public import Foundation

extension OperationQueue {
  /// Makes a queue that runs at most `limit` operations at once.
  public convenience init(limit: Int, suspended: Bool = false) {
    self.init()
    maxConcurrentOperationCount = limit
    isSuspended = suspended
  }

  /// Adds `operations` in order and returns. (Foundation's own form is not offered to async code.)
  public func add(_ operations: [Operation]) {
    addOperations(operations, waitUntilFinished: false)
  }
}
