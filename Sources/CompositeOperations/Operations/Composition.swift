/// An operation's view of its own composition. The only subclass is ``WorkSource`` of the engine.
package class Composition: @unchecked Sendable {  // holds nothing
  /// The kind of composition, for drawings and timelines.
  package var kind: OperationKind { .sequence }

  /// Called when the owner is being started on this thread; its `main` may run on another.
  func ownerWillStart(_ owner: SettlingOperation) {}
}
