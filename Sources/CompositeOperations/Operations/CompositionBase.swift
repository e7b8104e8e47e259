import Foundation

/// An operation's view of its composition. The only subclass is ``Composition``.
package class CompositionBase: @unchecked Sendable {  // immutable
  /// The kind of composition, for drawings and timelines.
  package final let kind: OperationKind

  init(_ kind: OperationKind) {
    self.kind = kind
  }

  /// Called when the owner is being started on this thread; its `main` may run on another.
  func ownerWillStart(_ owner: SettlingOperation) {}

  /// The dependency of the unstarted owner that only the owner would start; nil if there is none.
  func content(awaitedBy owner: SettlingOperation) -> Operation? { nil }
}
