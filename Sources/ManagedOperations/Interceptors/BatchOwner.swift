/// A manager as the batches of its interceptors know it.
protocol BatchOwner: AnyObject, Sendable {
  /// How many tasks an interceptor holds.
  func heldCount(of interceptor: Int) -> Int

  /// Whether an interceptor holds a task, as it did when it was given this number.
  func isHeld(_ identifier: Int, number: Int, by interceptor: Int) -> Bool

  /// Releases the tasks that were held first. Returns how many there were.
  func release(_ maxCount: Int, of interceptor: Int) -> Int

  /// Releases everything, unless the batch has been empty since. Returns how many tasks that were.
  func release(filling: Int, of interceptor: Int) -> Int

  /// Releases one task. Returns whether it was still held.
  func release(_ identifier: Int, number: Int, of interceptor: Int) -> Bool
}
