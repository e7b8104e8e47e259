/// What an operation knows of the composition that it stands for. All there are is a ``WorkSource``, of the engine.
package class Composition: @unchecked Sendable {  // holds nothing
  /// What the composition is called where it is shown.
  package var kind: OperationKind { .sequence }

  /// The owner is being started, on this thread; its `main` may go on on another.
  func ownerWillStart(_ owner: SettlingOperation) {}
}
