import Foundation

/// An observer of the end of an operation: the parent composition, an awaiting task, a manager.
package protocol SettlementObserver: AnyObject, Sendable {
  /// Called once per observation, after the finish was announced; on the thread that settled the
  /// operation, or a worker; under no lock.
  ///
  /// - Parameter tag: the tag that was passed to `observe`.
  func operationDidSettle(_ operation: Operation, tag: Int)
}

/// An observer with its tag.
struct Observation: Sendable {
  let observer: any SettlementObserver
  let tag: Int
}
