import Foundation

/// Told once an operation has settled and announced that it finished: the parent composition, an awaiting task, a manager.
package protocol SettlementObserver: AnyObject, Sendable {
  /// Called once per observation, on the thread that settled the operation, or a worker; under no lock.
  ///
  /// - Parameter tag: what the observer gave when it asked to be told.
  func operationDidSettle(_ operation: Operation, tag: Int)
}

/// One request to be told.
struct Observation: Sendable {
  let observer: any SettlementObserver
  let tag: Int
}
