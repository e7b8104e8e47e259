import Foundation

/// Which lanes work on which compositions in one queue, for one tree of compositions.
///
/// *Helpers* are operations in the queue. At most one *base* lane is the slot of the queue that the
/// root of the tree holds. As long as there is work that no lane has taken, one helper, the
/// *standby*, waits in the queue, which starts it when it has a free slot, whatever its limit is by
/// then.
///
/// While the tree waits for something that other trees may hold, it *lends* the slot of an idle
/// base lane to trees that want one in the same queue. See ``SlotLoans``.
///
/// Generic over the composition, so that tests need not run anything.
struct LaneState<Source: AnyObject> {
  enum Base: Equatable, CaseIterable {
    /// The root holds no slot of this queue.
    case none
    case idle
    case working
    /// Another tree runs a leaf in the slot.
    case lent
  }

  struct Standby: Equatable {
    /// Unique for each standby.
    let number: Int
    var isInQueue = false
  }

  /// What the caller does after an input.
  enum Action: Equatable {
    case nothing
    /// Make the base lane work.
    case wakeBase
    /// Add a helper to the queue.
    case addHelper
  }

  private(set) var base: Base
  /// The number of helpers that have started and not ended.
  private(set) var helpers = 0
  /// The helper that waits in the queue, or is about to be added to it.
  private(set) var standby: Standby?
  /// Whether the tree wants a slot that another tree lends: a standby waits, and there is work of a
  /// holder, for which the other tree may be waiting.
  private(set) var wantsLoan = false
  /// The number of lanes in slots that other trees lend.
  private(set) var loans = 0
  /// The number of waits of this tree for things that operations elsewhere may hold.
  private(set) var waits = 0

  // The compositions in turn: those with work, and some that had some. A composition with work has
  // a generation, which changes with each offer.
  private var ring: [Source] = []
  private var head = 0
  /// The compositions that have left the ring. Their release may release children, whose
  /// deinitializers are the user's.
  private var dropped: [Source] = []
  private var inRing: Set<ObjectIdentifier> = []
  private var generations: [ObjectIdentifier: Int] = [:]
  /// The compositions whose work holds something that other trees may be waiting for.
  private var holders: Set<ObjectIdentifier> = []
  private var lastGeneration = 0
  private var lastStandby = 0

  init(holdsSlot: Bool) {
    base = holdsSlot ? .idle : .none
  }

  var hasWork: Bool { !generations.isEmpty }

  var hasStandby: Bool { standby != nil }

  /// How many operations of this tree the queue contains.
  var operationCount: Int { helpers + (hasStandby ? 1 : 0) + (base == .none ? 0 : 1) }

  /// How many leaves can be running in the tree's own slots.
  var activeCount: Int { helpers + (base == .working ? 1 : 0) }

  /// Whether other trees may borrow the base lane's slot.
  var offersSlot: Bool { waits > 0 && base == .idle }

  /// Whether the lanes in lent slots may begin. Until the standby is in the queue, no operation
  /// there may represent them, and a `cancelAllOperations()` would miss them.
  var mayBeginLoans: Bool { standby?.isInQueue != false }

  /// The compositions that have work.
  var compositions: [Source] {
    ring[head...].filter { generations[ObjectIdentifier($0)] != nil }
  }

  /// The compositions that have work, with their generations.
  var offers: [(composition: Source, generation: Int)] {
    ring[head...].compactMap { composition in generations[ObjectIdentifier(composition)].map { (composition, $0) } }
  }

  /// The first composition that has work.
  var firstSource: Source? {
    ring[head...].first { generations[ObjectIdentifier($0)] != nil }
  }

  // MARK: - Sources

  /// Records that a composition has work.
  ///
  /// - Parameter holds: whether the work holds something that operations in other trees may be
  ///   waiting for.
  mutating func offer(_ composition: Source, holds: Bool = false) -> Action {
    keep(composition, holds: holds)
    return demand()
  }

  /// Keeps a composition that a lane leaves while it may have more work. If another lane found it
  /// exhausted at the same time, the new generation overrides that.
  mutating func keep(_ composition: Source, holds: Bool = false) {
    if holds { holders.insert(ObjectIdentifier(composition)) }
    lastGeneration += 1
    generations[ObjectIdentifier(composition)] = lastGeneration
    if inRing.insert(ObjectIdentifier(composition)).inserted { ring.append(composition) }
  }

  /// Finds a lane for work that none has taken.
  mutating func demand() -> Action {
    if base == .idle {
      base = .working
      return .wakeBase
    }
    if !holders.isEmpty { wantsLoan = true }
    return needStandby()
  }

  private mutating func needStandby() -> Action {
    guard !hasStandby else { return .nothing }
    lastStandby += 1
    standby = Standby(number: lastStandby)
    return .addHelper
  }

  /// Records that a helper is in the queue. It may have started by now, with another one as the
  /// standby.
  mutating func helperIsInQueue(_ number: Int) {
    if standby?.number == number { standby?.isInQueue = true }
  }

  /// Records that a composition had no work for a lane. Has no effect if the composition has made
  /// an offer since.
  mutating func exhausted(_ composition: Source, generation: Int) {
    guard generations[ObjectIdentifier(composition)] == generation else { return }
    generations[ObjectIdentifier(composition)] = nil
    holders.remove(ObjectIdentifier(composition))
    if generations.isEmpty { clear() }
  }

  private mutating func clear() {
    if dropped.isEmpty { swap(&dropped, &ring) } else { dropped += ring }
    ring = []
    head = 0
    inRing = []
  }

  /// Removes and returns what has left the ring, for the caller to release outside its lock.
  mutating func takeDropped() -> [Source] {
    guard !dropped.isEmpty else { return [] }
    defer { dropped = [] }
    return dropped
  }

  /// Returns the composition whose turn it is; nil if there is none. The action is for the other
  /// compositions.
  mutating func nextSource() -> (composition: Source, generation: Int, action: Action)? {
    while head < ring.count {
      let composition = ring[head]
      head += 1
      if head > 32, head * 2 > ring.count {
        dropped += ring[..<head]
        ring.removeFirst(head)
        head = 0
      }
      guard let generation = generations[ObjectIdentifier(composition)] else {
        inRing.remove(ObjectIdentifier(composition))
        continue
      }
      ring.append(composition)
      return (composition, generation, generations.count > 1 ? demand() : .nothing)
    }
    clear()
    return nil
  }

  // MARK: - Lanes

  /// Records that the standby has started.
  mutating func helperStarted() {
    precondition(hasStandby, "A helper started that was not the standby")
    standby = nil
    wantsLoan = false
    helpers += 1
  }

  /// Records that a helper gives up its slot.
  mutating func helperEnds() -> Action {
    precondition(helpers > 0, "A helper ended that had not started")
    helpers -= 1
    return hasWork ? demand() : .nothing
  }

  /// Called when the base lane has nothing in flight. Returns whether it has work; if not, it is
  /// now idle.
  mutating func baseContinues() -> Bool {
    precondition(base == .working, "baseContinues() in \(base)")
    return baseIsFree()
  }

  private mutating func baseIsFree() -> Bool {
    base = hasWork ? .working : .idle
    if base == .idle { wantsLoan = false }
    return base == .working
  }

  // MARK: - Loans

  /// Begins a wait for something that operations elsewhere may hold.
  mutating func waitBegins() { waits += 1 }

  /// Ends such a wait.
  mutating func waitEnds() {
    precondition(waits > 0, "A wait ended that had not begun")
    waits -= 1
  }

  /// Lends the slot if it is still on offer.
  mutating func lend() -> Bool {
    guard offersSlot else { return false }
    base = .lent
    return true
  }

  /// Called when the tree has its slot back. Returns whether the base lane has work and must be
  /// woken.
  mutating func slotReturned() -> Bool {
    precondition(base == .lent, "slotReturned() in \(base)")
    return baseIsFree()
  }

  /// Begins a lane in a slot that another tree lends. As long as there is one, a standby waits for
  /// a slot of the tree's own.
  mutating func loanBegins() -> Action {
    wantsLoan = false
    loans += 1
    return needStandby()
  }

  /// Ends such a lane, which gives the slot back.
  mutating func loanEnds() -> Action {
    precondition(loans > 0, "A loan ended that had not begun")
    loans -= 1
    return hasWork ? demand() : .nothing
  }

  /// Lets the standby, which has a slot now, take over from a lane in a lent one.
  mutating func helperTakesOver() -> Action {
    helperStarted()
    guard loans > 1 else { return loanEnds() }
    loans -= 1
    return needStandby()
  }
}
