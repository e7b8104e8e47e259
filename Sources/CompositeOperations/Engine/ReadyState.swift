import Foundation

/// Operations that can run now, of which so many at a time do. The state behind ``DrivenOperation``.
struct ReadyState {
  private(set) var width = Int.max
  private(set) var isSuspended = false
  private(set) var inFlight = 0
  private var ready = ReadyQueue()
  /// Those that wait and those that are in flight, by the number under which they were handed in.
  private(set) var operations: [Int: (operation: Operation, tag: Int)] = [:]
  private var lastNumber = 0

  /// An operation can run now. Returns whether there is something to claim.
  mutating func add(_ operation: Operation, tag: Int, priority: Operation.QueuePriority) -> Bool {
    lastNumber += 1
    operations[lastNumber] = (operation, tag)
    ready.append(lastNumber, priority: priority)
    return mayStart
  }

  /// The number of the operation to start, if one may start; `more` if another one may as well.
  mutating func claim() -> (number: Int, more: Bool)? {
    guard mayStart, let number = ready.popFirst() else { return nil }
    inFlight += 1
    return (number, mayStart)
  }

  private var mayStart: Bool { !isSuspended && inFlight < width && !ready.isEmpty }

  /// One that was started waits for its dependencies, and so does not count for now.
  mutating func wait() { inFlight -= 1 }

  /// It has waited.
  mutating func endWait(_ number: Int, priority: Operation.QueuePriority) -> Bool {
    guard operations[number] != nil else { return false }
    ready.append(number, priority: priority)
    return mayStart
  }

  /// One has settled. Returns its tag, and whether there is something to claim.
  mutating func settled(_ number: Int) -> (tag: Int, more: Bool)? {
    guard let (_, tag) = operations.removeValue(forKey: number) else { return nil }
    inFlight -= 1
    return (tag, mayStart)
  }

  mutating func setWidth(_ width: Int) -> Bool {
    precondition(width > 0, "A width of \(width)")
    self.width = width
    return mayStart
  }

  mutating func setSuspended(_ isSuspended: Bool) -> Bool {
    self.isSuspended = isSuspended
    return mayStart
  }

  /// The operations that wait for their turn.
  var waiting: [Operation] { ready.all.compactMap { operations[$0]?.operation } }

  var firstPriority: Operation.QueuePriority? { ready.firstPriority }
}
