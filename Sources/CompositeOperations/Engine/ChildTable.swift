import Foundation

/// The children of a composition: the one state machine of all compositions.
///
/// ```
///               ┌─────────────▶ ready ──claim──┐
///               │                              ▼
/// listed ──claim──▶ making ──made──▶ claimed ──mark──▶ ours, joined ──▶ ended
///                                       └──mark──▶ waiting ──unpark──▶ ready
/// ```
///
/// There are three kinds of tables:
///
/// - *Steps*: one child at a time, in `first`. The handle of a child is its number, from 1.
/// - *List*: a fixed number of children. The handle of a child is its index.
/// - *Tags*: children that a driver adds while others run. A claim gives a child its handle: a slot
///   of the table, and the number of the child. A late call with the handle of a child that is gone
///   finds nothing.
///
/// The caller releases children outside the lock: what removes a child returns the child.
struct ChildTable {
  enum Kind { case steps, list, tags }

  /// What a table is made for.
  enum Plan {
    /// - Parameter areRecorded: whether the table records how the steps end.
    case steps(areRecorded: Bool = false)
    /// - Parameter makesChildren: whether children are made when they can run.
    case list(Int, ListEndings.Policy, makesChildren: Bool = false)
    case tags
  }

  /// Why no child starts. Children may start while this is empty.
  struct Blocks: OptionSet {
    let rawValue: UInt8
    /// No further child starts.
    static let closed = Blocks(rawValue: 1)
    static let suspended = Blocks(rawValue: 2)
    /// The composition has not begun.
    static let idle = Blocks(rawValue: 4)
  }

  enum Phase: UInt8 {
    /// The child was not handed out. In steps: the child before has ended, and the next one is to
    /// be made.
    case listed
    /// A thread makes the child.
    case making
    /// A thread is about to start the child, or notifies monitors of its end.
    case claimed
    /// This composition starts the child, or has started the child.
    case ours
    /// Other code starts the child.
    case joined
    /// The child waits for its dependencies.
    case waiting
    /// The dependencies have finished.
    case ready
    /// The child no longer counts. In steps: no child follows.
    case ended

    /// Whether the end of the child is awaited.
    @inline(__always) var isRunning: Bool { rawValue &- Phase.claimed.rawValue < 3 }
    /// Whether the child has not started, and this composition starts the child.
    var isHeld: Bool { self == .waiting || self == .ready }
  }

  struct Entry {
    var child: Operation?
    /// Negative in a free slot.
    var handle = -1
    /// In a free slot: the next free slot.
    var tag = 0
    var phase = Phase.listed
  }

  // Steps, and the first slot of tags.
  private var first = Entry()
  let kind: Kind
  private(set) var blocks: Blocks
  /// How many of the next children to cancel when they are made: they were cancelled while they
  /// waited.
  private(set) var cancelledTags = 0
  /// The outcomes of steps; nil if they are not recorded.
  var records: SequentialRecords?

  private(set) var width = Int.max
  /// How many children were handed out by `claim`, without those that wait for their dependencies.
  private(set) var inFlight = 0
  private var ready: ReadyQueue?

  // Tags.
  private var tags = HeadedQueue<Int>()
  /// The slots after the first one.
  private var rest: ContiguousArray<Entry> = []
  /// The first free slot of these; 0 for none.
  private var firstFree = 0
  private var restCount = 0
  private var lastNumber = 0

  // Lists.
  /// How the children of a list have ended, and the composition with them.
  var endings = ListEndings()
  /// Children of normal priority that `claim` hands out in order.
  private var listed = 0..<0
  /// Child compositions that can start without a slot of the queue; the starter starts them.
  private var readyWithoutSlot: ReadyQueue?
  /// Whether a starter is about to start one.
  private var hasStarter = false
  /// The place of the child that was last added to either queue.
  private var lastPlace = 0
  /// The phases of a list; empty as long as no child differs from `claimed`.
  private var phases: [Phase] = []
  /// The children of a list whose children are made when they can run.
  private var madeChildren: [Operation?] = []

  init(_ plan: Plan) {
    switch plan {
    case .steps(let areRecorded):
      (kind, blocks) = (.steps, .idle)
      first.handle = 0
      if areRecorded { records = SequentialRecords() }
    case .list(let count, let policy, let makesChildren):
      (kind, blocks) = (.list, .idle)
      endings.count = count
      endings.policy = policy
      guard makesChildren else { return }
      madeChildren = Array(repeating: nil, count: count)
      endings.values = Array(repeating: nil, count: count)
    case .tags: (kind, blocks) = (.tags, [])
    }
  }

  // MARK: - Begin

  /// Begins. Returns whether children may start: false if the composition was cancelled before.
  mutating func begin(cancelled: Bool) -> Bool {
    precondition(blocks.contains(.idle), "A composition began twice")
    blocks.remove(.idle)
    if cancelled { endings.wasCancelled = true }
    if endings.wasCancelled {
      blocks.insert(.closed)
      first.phase = .making
    }
    return !endings.wasCancelled
  }

  var isClosed: Bool { blocks.contains(.closed) }

  /// Whether everything was handed out, unless something is added.
  var isExhausted: Bool {
    switch kind {
    case .steps: first.phase == .ended
    case .list: endings.isSettled
    case .tags: tags.isEmpty && first.handle < 0 && restCount == 0
    }
  }
}

// MARK: - Steps

extension ChildTable {
  enum Step {
    /// Make the child that follows this one, which was number `count`.
    case ask(Operation?, count: Int)
    /// Start the current child, number `count`, which has waited for its dependencies.
    case launch(Operation, count: Int)
    /// The next child may be asked for, by any thread.
    case next
    /// The composition was cancelled: settle it.
    case end
    case nothing
  }

  /// How many steps there were so far, the current one included.
  var stepCount: Int { first.handle }

  /// The current step.
  var step: Entry { first }

  mutating func claimStep() -> Step {
    guard blocks.isEmpty else { return .nothing }
    switch first.phase {
    case .listed:
      first.phase = .making
      return .ask(first.child.take(), count: first.handle)
    case .ready:
      guard let child = first.child else { return .nothing }
      first.phase = .ours
      return .launch(child, count: first.handle)
    case .making, .claimed, .ours, .joined, .waiting, .ended: return .nothing
    }
  }

  /// Records the next step. Returns what keeps the child from starting, and whether to cancel it.
  @inline(__always)
  mutating func stepMade(_ child: Operation, _ phase: Phase) -> (blocks: Blocks, isCancelled: Bool) {
    precondition(first.phase == .making, "A step was made in \(first.phase)")
    first.handle += 1
    first.child = child
    first.phase = blocks == .suspended ? .ready : phase
    defer { cancelledTags = 0 }
    return (blocks, cancelledTags > 0)
  }

  /// Ends the steps: no child follows. The caller holds the current child, or there is none.
  mutating func endSteps() {
    first.phase = .ended
    first.child = nil
  }

  /// Prepares to notify monitors of the end of a step, before it counts. Returns false if it is not
  /// awaited. A cancel in between settles nothing: the notifying thread does.
  mutating func tellStep(_ number: Int) -> Bool {
    guard first.handle == number, first.phase.isRunning else { return false }
    first.phase = .claimed
    return true
  }

  /// Records the end of a step.
  ///
  /// - Parameters:
  ///   - claiming: whether the caller goes on with the next step at once.
  ///   - isLast: whether no child follows, so that nothing is held back: the caller claims.
  ///   - record: adds the outcome to the records.
  @inline(__always)
  mutating func stepEnded(
    _ number: Int, claiming: Bool, isLast: Bool, record: (inout SequentialRecords) -> Void
  ) -> Step {
    guard first.handle == number, first.phase.isRunning else { return .nothing }
    if records != nil { record(&records!) }
    if isClosed {
      endSteps()
      return .end
    }
    guard isLast || claiming && blocks.isEmpty else {
      first.phase = .listed
      return .next
    }
    first.phase = .making
    return .ask(first.child.take(), count: number)
  }

  /// Lets no further child start. Returns the current step as it was before, for the caller to end;
  /// nil if there is nothing to do.
  mutating func cancelSteps() -> Entry? {
    guard !endings.wasCancelled, first.phase != .ended else { return nil }
    endings.wasCancelled = true
    // Who begins will see it.
    guard !blocks.contains(.idle) else { return nil }
    blocks.insert(.closed)
    let step = first
    switch step.phase {
    case .listed:
      first.phase = .making
      first.child = nil
    case .waiting, .ready: first.phase = .claimed
    case .joined: endSteps()
    case .making, .claimed, .ours, .ended: break
    }
    return step
  }

  /// Cancels what waits for its turn. Returns the current child, if it waits.
  mutating func cancelWaitingStep() -> Operation? {
    if first.phase == .listed, !blocks.contains(.idle) { cancelledTags = 1 }
    return first.phase.isHeld ? first.child : nil
  }
}

// MARK: - Claims, in lists and tags

extension ChildTable {
  struct Claim {
    var handle: Int
    var tag: Int
    /// A child that exists: the child has waited for its dependencies.
    var child: Operation?
    /// Whether this composition has adopted the child.
    var isOurs = false
    /// Whether the tag was cancelled while it waited.
    var isCancelled = false
    /// Whether another child may start at the same time.
    var more = false
  }

  /// - Parameter done: how many children of a list are done.
  private func mayStart(done: Int) -> Bool {
    guard blocks.isEmpty, inFlight - done < width, !(listed.isEmpty && ready == nil && tags.isEmpty) else {
      return false
    }
    return readyWithoutSlot == nil || width == .max || others(before: ready, done) < width - (inFlight - done)
  }

  /// How many of those that need no slot come before the first that needs one. They may start too,
  /// so there must be room for them.
  private func others(before ready: ReadyQueue?, _ done: Int) -> Int {
    guard let others = readyWithoutSlot else { return 0 }
    if !listed.isEmpty, ready?.isUrgent != true { return others.urgentCount }
    return ready.map { others.count(beforeFirstOf: $0) } ?? others.count
  }

  mutating func claim(done: Int = 0) -> Claim? {
    guard mayStart(done: done) else { return nil }
    inFlight += 1
    var claim: Claim
    if ready != nil, listed.isEmpty || ready!.isUrgent {
      let handle = ready!.popFirst()!
      if ready!.isEmpty { ready = nil }
      claim = claimReady(handle)
    } else if !listed.isEmpty {
      claim = Claim(handle: listed.lowerBound, tag: listed.lowerBound)
      listed.removeFirst()
    } else {
      let tag = tags.popFirst()!
      claim = Claim(handle: insert(tag), tag: tag, isCancelled: cancelledTags > 0)
      if claim.isCancelled { cancelledTags -= 1 }
    }
    claim.more = mayStart(done: done)
    return claim
  }

  private mutating func claimReady(_ handle: Int) -> Claim {
    guard kind == .tags else {
      let isOurs = phase(of: handle) == .ready
      if isOurs { phases[handle] = .ours }
      return Claim(handle: handle, tag: handle, isOurs: isOurs)
    }
    return with(handle) { entry in
      entry.phase = .ours
      return Claim(handle: handle, tag: entry.tag, child: entry.child, isOurs: true)
    }!
  }

  /// Records the child that was made for a claim, the tag that it settles with, and whether this
  /// composition has adopted the child (`ours`, otherwise `claimed`). Returns whether further
  /// children may start, and whether all children of a list were cancelled while they waited.
  mutating func made(
    _ handle: Int, _ child: Operation, tag: Int, _ phase: Phase
  ) -> (isOpen: Bool, isCancelled: Bool) {
    guard kind == .list else {
      with(handle) { entry in (entry.child, entry.tag, entry.phase) = (child, tag, phase) }
      return (!isClosed, false)
    }
    madeChildren[handle] = child
    if phase != .claimed { setPhase(phase, of: handle) }
    return (!isClosed, cancelledTags > 0)
  }

  /// Cancels the children that wait for their turn and are not made yet. They are made, and settle
  /// without running.
  mutating func cancelTags() {
    if !blocks.contains(.idle) { cancelledTags = kind == .list ? .max : tags.count }
  }

  // MARK: - Phases

  /// Records who starts a child, or that the child waits. Returns false if no further child may
  /// start.
  mutating func mark(_ handle: Int, _ phase: Phase) -> Bool {
    // A child that is ours is abandoned then, and awaited.
    guard !isClosed || phase == .ours else { return false }
    switch kind {
    case .steps: if first.handle == handle, first.phase.isRunning { first.phase = phase }
    case .list: setPhase(phase, of: handle)
    case .tags: with(handle) { $0.phase = phase }
    }
    if phase == .waiting { inFlight -= 1 }
    return !isClosed
  }

  mutating func phase(of handle: Int) -> Phase {
    switch kind {
    case .steps: first.handle == handle ? first.phase : .ended
    case .list: phases.isEmpty ? .claimed : phases[handle]
    case .tags: with(handle) { $0.phase } ?? .ended
    }
  }

  @inline(__always)
  private mutating func setPhase(_ phase: Phase, of index: Int) {
    if phases.isEmpty { phases = Array(repeating: .claimed, count: endings.count) }
    phases[index] = phase
  }

  /// Ends the wait of a child. Returns false if that no longer matters.
  mutating func unpark(_ handle: Int, priority: Operation.QueuePriority, needsSlot: Bool = true) -> Bool {
    guard !isClosed, phase(of: handle) == .waiting else { return false }
    switch kind {
    case .steps:
      first.phase = .ready
      return true
    case .list: phases[handle] = .ready
    case .tags: with(handle) { $0.phase = .ready }
    }
    add(ready: handle, priority: priority, needsSlot: needsSlot)
    return true
  }

  /// Adds a child that can start.
  mutating func add(ready handle: Int, priority: Operation.QueuePriority, needsSlot: Bool = true) {
    let place = kind == .list ? lastPlace + 1 : nil
    lastPlace += 1
    if needsSlot {
      ready = ready ?? ReadyQueue()
      ready!.append(handle, priority: priority, place: place)
    } else {
      readyWithoutSlot = readyWithoutSlot ?? ReadyQueue()
      readyWithoutSlot!.append(handle, priority: priority, place: place)
    }
  }

  var firstPriority: Operation.QueuePriority? {
    !listed.isEmpty && ready?.isUrgent != true ? .normal : ready?.firstPriority
  }

  // MARK: - Limits

  mutating func setWidth(_ width: Int) {
    precondition(width > 0, "A width of \(width)")
    self.width = width
  }

  mutating func setSuspended(_ isSuspended: Bool) {
    if isSuspended { blocks.insert(.suspended) } else { blocks.remove(.suspended) }
  }

  /// Whether children must be claimed one by one, because of a limit or a suspension.
  var isLimited: Bool { width < .max || blocks.contains(.suspended) }

  /// Whether there is something to claim.
  var canClaim: Bool { mayStart(done: 0) }
}

// MARK: - Lists

extension ChildTable {
  /// Has `claim` hand out all children of normal priority in order, or those that are left of them.
  mutating func list(_ left: [Range<Int>]) {
    inFlight += endings.count - left.reduce(0) { $0 + $1.count }
    if left.count == 1 {
      listed = left[0]
    } else {
      for tag in left.joined() { add(ready: tag, priority: .normal) }
    }
  }

  /// Returns whether the caller must become the starter. An existing starter finds what is to
  /// start.
  mutating func callStarter(done: Int) -> Bool {
    guard !hasStarter, mayStartWithoutSlot(done) else { return false }
    hasStarter = true
    return true
  }

  /// Returns what the starter starts, and ends its role; `more` if it must call the next starter.
  mutating func claimWithoutSlot(done: Int) -> Claim? {
    hasStarter = false
    guard mayStartWithoutSlot(done), let handle = readyWithoutSlot!.popFirst() else { return nil }
    if readyWithoutSlot!.isEmpty { readyWithoutSlot = nil }
    inFlight += 1
    var claim = claimReady(handle)
    claim.more = callStarter(done: done)
    return claim
  }

  private func mayStartWithoutSlot(_ done: Int) -> Bool {
    guard blocks.isEmpty, let children = readyWithoutSlot, inFlight - done < width else { return false }
    guard width < .max else { return true }
    let before = (children.isUrgent ? 0 : listed.count) + (ready?.count(beforeFirstOf: children) ?? 0)
    return before < width - (inFlight - done)
  }

  /// A child that was made, and has not ended.
  func madeChild(_ index: Int) -> Operation? { madeChildren[index] }

  var childrenMade: [(index: Int, child: Operation)] {
    madeChildren.enumerated().compactMap { index, child in child.map { (index, $0) } }
  }

  /// Records the end of a child that was made. Returns the child.
  mutating func release(_ index: Int, value: (any Sendable)?) -> Operation? {
    endings.values[index] = value
    return madeChildren[index].take()
  }

  /// Records the end of a child in a list whose children other code may start. Returns false if the
  /// child is not awaited.
  mutating func leave(_ index: Int) -> Bool {
    switch phase(of: index) {
    case .ours: return true
    case .joined:
      phases[index] = .ended
      return true
    default: return false
    }
  }

  /// Lets no further child start. Returns the phases as they were before, in which what was not
  /// handed out is `listed`; nil if the table was closed or has not begun.
  ///
  /// - Parameter left: what the cursor had not handed out.
  mutating func closeList(left: [Range<Int>]) -> [Phase]? {
    guard !isClosed, !blocks.contains(.idle) else { return nil }
    blocks.insert(.closed)
    var before = phases.isEmpty ? Array(repeating: .claimed, count: endings.count) : phases
    let queued = (ready?.all ?? []) + (readyWithoutSlot?.all ?? [])
    for index in queued where before[index] != .ready { before[index] = .listed }
    for index in (left + [listed]).joined() { before[index] = .listed }
    (ready, readyWithoutSlot, listed) = (nil, nil, 0..<0)
    setPhases(after: before)
    return before
  }

  /// Closes a list that was cancelled before it began, or that has children it cannot run.
  mutating func refuse(_ refusals: [Int: OperationError]) -> [Phase] {
    blocks.insert(.closed)
    var before = Array(repeating: Phase.listed, count: endings.count)
    for (index, error) in refusals.sorted(by: { $0.key < $1.key }) {
      before[index] = .joined
      if !endings.wasCancelled { endings.failures.append((index, error)) }
    }
    setPhases(after: before)
    return before
  }

  private mutating func setPhases(after before: [Phase]) {
    // The children to abandon are awaited like those that run.
    phases = before.map { $0 == .listed || $0.isHeld ? .ours : $0 == .joined ? .ended : $0 }
  }

  /// The children that wait for a place, made or not.
  func waitingInList(left: Range<Int>) -> [Int] {
    (ready?.all ?? []) + (readyWithoutSlot?.all ?? []) + Array(listed) + Array(left)
  }

  /// Whether children wait for a place or for their dependencies.
  var hasWaiting: Bool { hasReady || phases.contains(.waiting) }

  private var hasReady: Bool { !(listed.isEmpty && ready == nil && readyWithoutSlot == nil) }

  /// How many children are in flight, if there is no place for those that are ready.
  func fullPlaces(done: Int) -> Int? {
    let inFlight = inFlight - done
    return !isClosed && inFlight >= width && hasReady ? inFlight : nil
  }
}

/// How the children of a list have ended.
struct ListEndings {
  enum Policy: Equatable, CaseIterable {
    case cancelRemaining, waitForAll
    /// The first success ends it; failures do not matter while a child may still succeed.
    case firstSuccess
    /// Like the first success. But a child that other code cancels ends the composition.
    case hedge
    /// The outcomes of children do not affect that of the composition.
    case settleAll
  }

  typealias Failure = (index: Int, error: any Error)

  var count = 0
  var policy = Policy.cancelRemaining
  /// In the order in which they happened.
  var failures: [Failure] = []
  /// The values of children that were made and released.
  var values: [(any Sendable)?] = []
  var winner: Int?
  /// Whether the owner was cancelled.
  var wasCancelled = false
  var sawOutsideCancel = false
  var isSettled = false

  /// Records an ending. Returns whether no further child may start.
  ///
  /// - Parameter isOpen: whether children may start. If not, this composition may have cancelled
  ///   the child.
  mutating func record(_ outcome: Outcome<any Sendable>, of index: Int, isOpen: Bool) -> Bool {
    switch (outcome, policy) {
    case (_, .settleAll), (.success, .cancelRemaining), (.success, .waitForAll): return false
    case (.success, .firstSuccess), (.success, .hedge):
      if isOpen { winner = index }
      return isOpen
    case (.failure(let error), _):
      failures.append((index, error))
      return policy == .cancelRemaining
    case (.cancelled, _):
      if isOpen { sawOutsideCancel = true }
      return policy == .cancelRemaining || policy == .hedge
    }
  }

  mutating func verdict() -> Verdict {
    isSettled = true
    if wasCancelled { return .cancelled }
    if let winner { return .winner(winner) }
    if policy == .hedge, sawOutsideCancel { return .cancelled }
    if !failures.isEmpty { return .failures(failures) }
    return sawOutsideCancel ? .cancelled : .success(nil)
  }
}

// MARK: - Tags

extension ChildTable {
  private static let slotBits = 32
  private static func slot(of handle: Int) -> Int { handle & (1 << slotBits - 1) }

  /// The number of a child, from 1, in the order of the claims.
  static func number(of handle: Int) -> Int { handle >> slotBits }

  /// Adds tags. Returns whether there is something to claim.
  mutating func add(tags added: some Sequence<Int>) -> Bool {
    if !isClosed { tags.append(contentsOf: added) }
    return canClaim
  }

  private mutating func insert(_ tag: Int) -> Int {
    lastNumber += 1
    let number = lastNumber << ChildTable.slotBits
    if first.handle < 0 {
      (first.handle, first.tag, first.phase) = (number, tag, .making)
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
    (rest[slot - 1].handle, rest[slot - 1].tag, rest[slot - 1].phase) = (number | slot, tag, .making)
    return number | slot
  }

  /// Nil if the child is gone.
  @inline(__always)
  @discardableResult
  private mutating func with<R>(_ handle: Int, _ body: (inout Entry) -> R) -> R? {
    let slot = ChildTable.slot(of: handle)
    if slot == 0 { return first.handle == handle ? body(&first) : nil }
    // The table may have given its slots back since.
    guard slot <= rest.count, rest[slot - 1].handle == handle else { return nil }
    return body(&rest[slot - 1])
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

  /// Removes a child that has settled; nil if the child is gone. Its place is taken until the call
  /// of ``freePlace(adding:)``.
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
  mutating func closeTags() -> [Entry] {
    guard !isClosed else { return [] }
    blocks.insert(.closed)
    tags = HeadedQueue()
    ready = nil
    let closed = entries.filter { $0.phase == .ours || $0.phase.isHeld }
    for entry in closed where entry.phase != .ours {
      with(entry.handle) { $0.phase = .ours }
      // Until the child has settled.
      inFlight += 1
    }
    return closed
  }

  /// The children that were made, in the order of their numbers.
  var entries: [Entry] {
    ([first] + rest).filter { $0.child != nil }.sorted { $0.handle < $1.handle }
  }

  mutating func child(_ handle: Int) -> Operation? { with(handle) { $0.child } ?? nil }
}
