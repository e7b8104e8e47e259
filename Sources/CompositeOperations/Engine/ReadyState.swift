import Foundation

/// The state of a ``DrivenOperation``: operations that can run, limited to a width.
///
/// They are added as tags, and made when they may start. An operation that then waits for its
/// dependencies takes no place; afterwards it comes before all that were not made.
struct ReadyState {
  private(set) var width = Int.max
  private(set) var isSuspended = false
  private(set) var inFlight = 0
  /// Operations that have waited for their dependencies and can start.
  private var ready = ReadyQueue()
  /// The tags whose operations are made when they may start.
  private var tags = HeadedQueue<Int>()
  /// How many of the tags were cancelled while they waited.
  private var cancelledTags = 0
  /// Operations that wait or are in flight, by the number that they got when they were made.
  private(set) var operations: [Int: (operation: Operation, tag: Int)] = [:]
  /// Operations that wait for their dependencies, which do not count as in flight.
  private var parked: Set<Int> = []
  /// Operations that this source starts.
  private var owned: Set<Int> = []
  private var lastNumber = 0
  /// Whether the state is closed: no further operation starts.
  private(set) var isClosed = false

  /// Returns the number of an operation that has waited and may start now; `more` if another
  /// operation may start too.
  mutating func claim() -> (number: Int, more: Bool)? {
    guard mayStart, let number = ready.popFirst() else { return nil }
    inFlight += 1
    return (number, mayStart)
  }

  private var mayStart: Bool { !isSuspended && inFlight < width && !(ready.isEmpty && tags.isEmpty) }

  /// Adds tags whose operations can run. Returns whether there is something to claim.
  mutating func add(tags added: some Sequence<Int>) -> Bool {
    if !isClosed { tags.append(contentsOf: added) }
    return mayStart
  }

  /// Returns the tag of an operation to make and start, if one may start. It counts as in flight
  /// from now on.
  mutating func claimTag() -> (tag: Int, isCancelled: Bool, more: Bool)? {
    guard mayStart, let tag = tags.popFirst() else { return nil }
    let isCancelled = cancelledTags > 0
    if isCancelled { cancelledTags -= 1 }
    inFlight += 1
    return (tag, isCancelled, mayStart)
  }

  /// Adds the operation that was made for a claimed tag. Returns its number.
  mutating func made(_ operation: Operation, tag: Int) -> Int {
    lastNumber += 1
    operations[lastNumber] = (operation, tag)
    return lastNumber
  }

  /// Frees the place of a claimed tag that has nothing to start.
  mutating func skipTag() { inFlight -= 1 }

  /// Cancels the waiting tags: their operations will be made, and cancelled before they start.
  mutating func cancelTags() { cancelledTags = tags.count }

  /// Records that this source starts an operation. Returns false if no further one may start.
  mutating func own(_ number: Int) -> Bool {
    owned.insert(number)
    return !isClosed
  }

  func owns(_ number: Int) -> Bool { owned.contains(number) }

  /// Records that other code starts an operation. Returns false if none is awaited now.
  mutating func join(_ number: Int) -> Bool {
    owned.remove(number)
    return !isClosed
  }

  /// Lets a claimed operation wait for its dependencies. Returns false if it may no longer start.
  mutating func park(_ number: Int) -> Bool {
    guard !isClosed else { return false }
    parked.insert(number)
    inFlight -= 1
    return true
  }

  /// Ends such a wait. Returns whether there is something to claim.
  mutating func unpark(_ number: Int, priority: Operation.QueuePriority) -> Bool {
    guard parked.remove(number) != nil else { return false }
    ready.append(number, priority: priority)
    return mayStart
  }

  /// Removes an operation that has settled, and returns its tag. It counts as in flight until its
  /// place is freed.
  mutating func settled(_ number: Int) -> Int? {
    guard let (_, tag) = operations.removeValue(forKey: number) else { return nil }
    owned.remove(number)
    return tag
  }

  /// Frees the place of a settled operation, and adds the tags that can run in consequence. Returns
  /// whether there is something to claim.
  mutating func freePlace(adding added: some Sequence<Int>) -> Bool {
    inFlight -= 1
    return add(tags: added)
  }

  /// Stops all starts, and forgets the tags. Returns the operations that were not started; each
  /// counts as in flight until it has settled.
  mutating func close() -> [Int] {
    isClosed = true
    tags = HeadedQueue()
    let abandoned = ready.removeAll() + parked.sorted()
    parked = []
    inFlight += abandoned.count
    return abandoned
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

  /// The operations that have waited for their dependencies and now wait for their turn.
  var waiting: [(number: Int, operation: Operation)] {
    ready.all.compactMap { number in operations[number].map { (number, $0.operation) } }
  }

  /// Whether there is neither a tag nor an operation.
  var isEmpty: Bool { tags.isEmpty && operations.isEmpty }

  var firstPriority: Operation.QueuePriority? { ready.firstPriority }
}
