import Foundation

/// Operations that can run now, of which so many at a time do. The state behind ``DrivenOperation``.
///
/// They are handed in as tags, and made when one of them may start. One that then has to wait for its dependencies takes
/// no place meanwhile; afterwards it comes before all that have not been made.
struct ReadyState {
  private(set) var width = Int.max
  private(set) var isSuspended = false
  /// Whether operations are held back by a progress that is paused. Apart from `isSuspended`, which is the driver's.
  private(set) var isHeld = false
  private(set) var inFlight = 0
  /// Those that have waited for their dependencies, and can start.
  private var ready = ReadyQueue()
  /// The tags whose operations are made when they may start.
  private var tags = HeadedQueue<Int>()
  /// How many of them were cancelled while they waited for their turn.
  private var cancelledTags = 0
  /// Those that wait and those that are in flight, by the number that they got when they were made.
  private(set) var operations: [Int: (operation: Operation, tag: Int)] = [:]
  /// Those that wait for their dependencies, and so do not count as in flight.
  private var parked: Set<Int> = []
  /// Those that are known to be ours to start.
  private var owned: Set<Int> = []
  private var lastNumber = 0
  /// Nothing starts any more.
  private(set) var isClosed = false

  /// The number of the operation to start, of those that have waited, if one may start; `more` if another operation may
  /// as well.
  mutating func claim() -> (number: Int, more: Bool)? {
    guard mayStart, let number = ready.popFirst() else { return nil }
    inFlight += 1
    return (number, mayStart)
  }

  private var mayStart: Bool { !isSuspended && !isHeld && inFlight < width && !(ready.isEmpty && tags.isEmpty) }

  /// Operations can run now, and are made when they may start. Returns whether there is something to claim.
  mutating func add(tags added: some Sequence<Int>) -> Bool {
    if !isClosed { tags.append(contentsOf: added) }
    return mayStart
  }

  /// The tag of the operation to make and start, if one may start. It counts as in flight from here on.
  mutating func claimTag() -> (tag: Int, isCancelled: Bool, more: Bool)? {
    guard mayStart, let tag = tags.popFirst() else { return nil }
    let isCancelled = cancelledTags > 0
    if isCancelled { cancelledTags -= 1 }
    inFlight += 1
    return (tag, isCancelled, mayStart)
  }

  /// The operation of a claimed tag was made. Returns its number.
  mutating func made(_ operation: Operation, tag: Int) -> Int {
    lastNumber += 1
    operations[lastNumber] = (operation, tag)
    return lastNumber
  }

  /// There is nothing to start for a claimed tag.
  mutating func skipTag() { inFlight -= 1 }

  /// The tags that wait for their turn are cancelled: their operations will be made, and be cancelled before they start.
  mutating func cancelTags() { cancelledTags = tags.count }

  /// One was found to be ours to start. False if none may start any more.
  mutating func own(_ number: Int) -> Bool {
    owned.insert(number)
    return !isClosed
  }

  func owns(_ number: Int) -> Bool { owned.contains(number) }

  /// One that was claimed waits for its dependencies. False if none may start any more.
  mutating func park(_ number: Int) -> Bool {
    guard !isClosed else { return false }
    parked.insert(number)
    inFlight -= 1
    return true
  }

  /// It has waited. Returns whether there is something to claim.
  mutating func unpark(_ number: Int, priority: Operation.QueuePriority) -> Bool {
    guard parked.remove(number) != nil else { return false }
    ready.append(number, priority: priority)
    return mayStart
  }

  /// One has settled. Returns its tag. It counts as in flight until its place is freed.
  mutating func settled(_ number: Int) -> Int? {
    guard let (_, tag) = operations.removeValue(forKey: number) else { return nil }
    owned.remove(number)
    return tag
  }

  /// Whoever had to be told that one has settled was, and these can run in consequence. Returns whether there is something to
  /// claim.
  mutating func freePlace(adding added: some Sequence<Int>) -> Bool {
    inFlight -= 1
    return add(tags: added)
  }

  /// Nothing starts any more, and what was handed in as a tag is forgotten. Returns what has not been started; it counts
  /// as in flight until it has settled.
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

  mutating func setHeld(_ isHeld: Bool) -> Bool {
    self.isHeld = isHeld
    return mayStart
  }

  /// The operations that have waited for their dependencies, and now wait for their turn.
  var waiting: [(number: Int, operation: Operation)] {
    ready.all.compactMap { number in operations[number].map { (number, $0.operation) } }
  }

  var firstPriority: Operation.QueuePriority? { ready.firstPriority }
}
