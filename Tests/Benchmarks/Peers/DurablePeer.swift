/// What a queue of durable jobs is compared with: the same statements, in a bare loop, by tables
/// that a queue has made.
///
/// One row uses it at a time.
protocol DurablePeer: Sendable {
  /// Inserts jobs, so many in each transaction.
  func enqueue(_ count: Int, payload: [UInt8], inBatchesOf size: Int)

  /// Claims so many jobs, and acknowledges those that were claimed before, or these.
  func claimAndAcknowledge(_ size: Int)
}
