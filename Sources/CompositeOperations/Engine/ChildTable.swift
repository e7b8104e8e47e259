import Foundation

/// The children of a ``DrivenOperation`` that wait, run or have just settled.
///
/// ```
/// tag ──claim──▶ claimed ──made, mark──▶ ours, joined ──take──▶ (gone) ──freePlace
///                   │                      ▲
///                   └──mark(waiting)──▶ waiting ──unpark──▶ ready ──claim
/// ```
///
/// A claim gives a child its handle: a slot of the table, and the number of the child. A late call
/// with the handle of a child that is gone finds nothing. The first slot is inline, so the table
/// allocates nothing while one child is in flight.
///
/// The caller releases children outside the lock: `take` and `skip` return them.
struct ChildTable {
  /// Why no child starts. Children may start while this is empty.
  struct Blocks: OptionSet {
    let rawValue: UInt8
    static let closed = Blocks(rawValue: 1)
    static let suspended = Blocks(rawValue: 2)
  }

  enum Phase: UInt8 {
    /// The driver makes the child, or a thread is about to start the child.
    case claimed
    /// This composition starts the child, or has started the child.
    case ours
    /// Other code starts the child.
    case joined
    /// The child waits for its dependencies.
    case waiting
    /// The dependencies have finished.
    case ready
  }

  struct Entry {
    var child: Operation?
    /// Negative in a free slot.
    var handle = -1
    /// In a free slot: the next free slot.
    var tag = 0
    var phase = Phase.claimed
  }

  private static let slotBits = 32
  private static func slot(of handle: Int) -> Int { handle & (1 << slotBits - 1) }

  /// The number of a child, from 1, in the order of the claims.
  static func number(of handle: Int) -> Int { handle >> slotBits }

  private var first = Entry()
  private(set) var blocks: Blocks = []
  private(set) var width = Int.max
  private(set) var inFlight = 0
  /// The slots after the first one.
  private var rest: ContiguousArray<Entry> = []
  /// The first free slot of these; 0 for none.
  private var firstFree = 0
  private var restCount = 0
  private var lastNumber = 0
  private var tags = HeadedQueue<Int>()
  /// How many of the tags were cancelled while they waited.
  private var cancelledTags = 0
  /// The handles of children that have waited for their dependencies; nil if there are none.
  private var ready: ReadyQueue?

  // MARK: - Claims

  struct Claim {
    var handle: Int
    var tag: Int
    /// A child that exists: the child has waited for its dependencies.
    var child: Operation?
    /// Whether the tag was cancelled while it waited.
    var isCancelled = false
    /// Whether another child may start at the same time.
    var more = false
  }

  private var mayStart: Bool { blocks.isEmpty && inFlight < width && !(tags.isEmpty && ready == nil) }

  /// Adds tags. Returns whether there is something to claim.
  mutating func add(tags added: some Sequence<Int>) -> Bool {
    if !blocks.contains(.closed) { tags.append(contentsOf: added) }
    return mayStart
  }

  mutating func claim() -> Claim? {
    guard mayStart else { return nil }
    inFlight += 1
    var claim: Claim
    if let handle = ready?.popFirst() {
      if ready?.isEmpty == true { ready = nil }
      // Adopted before the wait.
      claim = with(handle) { entry in
        entry.phase = .ours
        return Claim(handle: handle, tag: entry.tag, child: entry.child)
      }!
    } else {
      let tag = tags.popFirst()!
      claim = Claim(handle: insert(tag), tag: tag, isCancelled: cancelledTags > 0)
      if claim.isCancelled { cancelledTags -= 1 }
    }
    claim.more = mayStart
    return claim
  }

  private mutating func insert(_ tag: Int) -> Int {
    lastNumber += 1
    let number = lastNumber << ChildTable.slotBits
    if first.handle < 0 {
      (first.handle, first.tag, first.phase) = (number, tag, .claimed)
      return number
    }
    let slot: Int
    if firstFree > 0 {
      slot = firstFree
      firstFree = rest[slot - 1].tag
    } else {
      rest.append(Entry())
      slot = rest.count
    }
    restCount += 1
    (rest[slot - 1].handle, rest[slot - 1].tag, rest[slot - 1].phase) = (number | slot, tag, .claimed)
    return number | slot
  }

  /// Nil if the child is gone.
  @inline(__always)
  private mutating func with<R>(_ handle: Int, _ body: (inout Entry) -> R) -> R? {
    let slot = ChildTable.slot(of: handle)
    if slot == 0 { return first.handle == handle ? body(&first) : nil }
    // The table may have given its slots back since.
    guard slot <= rest.count, rest[slot - 1].handle == handle else { return nil }
    return body(&rest[slot - 1])
  }

  /// Records the child of a claim, the tag that the child settles with, and whether this composition
  /// has adopted the child (`ours`, otherwise `claimed`). Returns false if no further child may
  /// start.
  mutating func made(_ handle: Int, _ child: Operation, tag: Int, _ phase: Phase) -> Bool {
    with(handle) { entry in (entry.child, entry.tag, entry.phase) = (child, tag, phase) }
    return !blocks.contains(.closed)
  }

  /// Frees the slot of a claim for which there is nothing to start.
  mutating func skip(_ handle: Int) {
    _ = remove(handle)
    inFlight -= 1
  }

  private mutating func remove(_ handle: Int) -> Operation? {
    let slot = ChildTable.slot(of: handle)
    if slot == 0 {
      first.handle = -1
      return first.child.take()
    }
    let child = rest[slot - 1].child.take()
    (rest[slot - 1].handle, rest[slot - 1].tag) = (-1, firstFree)
    firstFree = slot
    restCount -= 1
    if restCount == 0, rest.count > 256 {
      // An idle table gives its memory back.
      (rest, firstFree) = ([], 0)
    }
    return child
  }

  /// Cancels the children of the tags that wait. They are made, and settle without running.
  mutating func cancelTags() { cancelledTags = tags.count }

  // MARK: - Phases

  /// Records who starts a child, or that the child waits. Returns false if no further child may
  /// start.
  mutating func mark(_ handle: Int, _ phase: Phase) -> Bool {
    let isOpen = !blocks.contains(.closed)
    // A child that is ours is abandoned then, and awaited.
    guard isOpen || phase == .ours else { return false }
    with(handle) { $0.phase = phase }
    if phase == .waiting { inFlight -= 1 }
    return isOpen
  }

  mutating func owns(_ handle: Int) -> Bool {
    with(handle) { $0.phase == .ours || $0.phase == .waiting || $0.phase == .ready } ?? false
  }

  /// Makes a child ready whose dependencies have finished. Returns whether there is something to
  /// claim.
  mutating func unpark(_ handle: Int, priority: Operation.QueuePriority) -> Bool {
    let wasWaiting = with(handle) { entry in
      guard entry.phase == .waiting else { return false }
      entry.phase = .ready
      return true
    }
    guard wasWaiting == true, !blocks.contains(.closed) else { return false }
    ready = ready ?? ReadyQueue()
    ready?.append(handle, priority: priority)
    return mayStart
  }

  // MARK: - Ends

  /// Removes a child that has settled; nil if the child is gone. Its place is taken until the call of
  /// ``freePlace(adding:)``.
  mutating func take(_ handle: Int) -> (tag: Int, child: Operation?)? {
    with(handle) { $0.tag }.map { ($0, remove(handle)) }
  }

  /// Returns whether there is something to claim then.
  mutating func freePlace(adding added: [Int]) -> Bool {
    inFlight -= 1
    return add(tags: added)
  }

  /// Lets no further child start, and forgets the tags. Returns the children that were started here
  /// (`ours`) and those to settle without running them, in order.
  mutating func close() -> [Entry] {
    guard !blocks.contains(.closed) else { return [] }
    blocks.insert(.closed)
    tags = HeadedQueue()
    ready = nil
    let closed = entries.filter { $0.phase == .ours || $0.phase == .waiting || $0.phase == .ready }
    for entry in closed where entry.phase != .ours {
      with(entry.handle) { $0.phase = .ours }
      // Until the child has settled.
      inFlight += 1
    }
    return closed
  }

  // MARK: - Limits

  mutating func setWidth(_ width: Int) -> Bool {
    precondition(width > 0, "A width of \(width)")
    self.width = width
    return mayStart
  }

  mutating func setSuspended(_ isSuspended: Bool) -> Bool {
    if isSuspended { blocks.insert(.suspended) } else { blocks.remove(.suspended) }
    return mayStart
  }

  // MARK: - What is there

  /// The children that were made, in the order of their numbers.
  var entries: [Entry] {
    ([first] + rest).filter { $0.child != nil }.sorted { $0.handle < $1.handle }
  }

  mutating func child(_ handle: Int) -> Operation? { with(handle) { $0.child } ?? nil }

  var isEmpty: Bool { tags.isEmpty && first.handle < 0 && restCount == 0 }

  var firstPriority: Operation.QueuePriority? { ready?.firstPriority }
}
