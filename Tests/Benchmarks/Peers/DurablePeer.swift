/// The peer of a queue of durable jobs: the same statements, in a bare loop, on tables that a queue
/// has made.
///
/// One row uses it at a time.
protocol DurablePeer: Sendable {
  /// Inserts jobs, this many in each transaction.
  func enqueue(_ count: Int, payload: [UInt8], inBatchesOf size: Int)

  /// Claims `size` jobs, and acknowledges the previously claimed ones, or these.
  func claimAndAcknowledge(_ size: Int)
}
