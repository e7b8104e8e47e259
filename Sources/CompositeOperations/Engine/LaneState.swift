import Foundation

/// Who works on which source in one queue, for one tree of compositions.
///
/// There are *helpers*, operations in the queue, and at most one *base* lane, the slot of the queue that the root of
/// the tree holds. One helper waits in the queue, the standby, as long as there is work that no lane has taken: the
/// queue starts it when it has a slot free, whatever its limit is by then.
///
/// While the tree waits for something that operations elsewhere may hold, it *lends* the slot of an idle base lane to
/// other trees that want one in the same queue, for they may be those. See ``SlotLoans``.
///
/// Generic over the source, so that it can be tested without running anything.
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
    /// Each has another one.
    let number: Int
    var isInQueue = false
  }

  /// What there is to do after an input.
  enum Action: Equatable {
    case nothing
    /// Let the base lane work.
    case wakeBase
    /// Add a helper to the queue.
    case addHelper
  }

  private(set) var base: Base
  /// Helpers that have started and not ended.
  private(set) var helpers = 0
  /// The helper that waits in the queue, or is about to be added to it.
  private(set) var standby: Standby?
  /// Whether a slot that another tree lends would do as well: a standby waits, and there is work of a holder, for which that
  /// tree may be waiting.
  private(set) var wantsLoan = false
  /// The lanes in slots that other trees lend.
  private(set) var loans = 0
  /// How much the tree waits for that operations elsewhere may hold.
  private(set) var waits = 0

  // The sources that have work, to be taken in turn, and some that had; those that have one have a generation, which
  // is new with each offer.
  private var ring: [Source] = []
  private var head = 0
  private var inRing: Set<ObjectIdentifier> = []
  private var generations: [ObjectIdentifier: Int] = [:]
  /// Those among them whose work holds something that others may be waiting for.
  private var holders: Set<ObjectIdentifier> = []
  private var lastGeneration = 0
  private var lastStandby = 0

  init(holdsSlot: Bool) {
    base = holdsSlot ? .idle : .none
  }

  var hasWork: Bool { !generations.isEmpty }

  var hasStandby: Bool { standby != nil }

  /// How many operations of the queue belong to this tree.
  var operationCount: Int { helpers + (hasStandby ? 1 : 0) + (base == .none ? 0 : 1) }

  /// How many leaves could be running in the tree's own slots.
  var activeCount: Int { helpers + (base == .working ? 1 : 0) }

  /// Whether other trees may have the base lane's slot.
  var offersSlot: Bool { waits > 0 && base == .idle }

  /// Whether the lanes in lent slots may begin. While a standby is still to come, nothing in the queue may stand for them,
  /// and they would miss a cancel of all that is in the queue.
  var mayBeginLoans: Bool { standby?.isInQueue != false }

  /// The sources that have work.
  var sources: [Source] {
    ring[head...].filter { generations[ObjectIdentifier($0)] != nil }
  }

  /// One of them.
  var firstSource: Source? {
    ring[head...].first { generations[ObjectIdentifier($0)] != nil }
  }

  // MARK: - Sources

  /// A source has work.
  ///
  /// - Parameter holds: whether that holds something that operations in other trees may be waiting for.
  mutating func offer(_ source: Source, holds: Bool = false) -> Action {
    list(source, holds)
    return demand()
  }

  private mutating func list(_ source: Source, _ holds: Bool) {
    if holds { holders.insert(ObjectIdentifier(source)) }
    lastGeneration += 1
    generations[ObjectIdentifier(source)] = lastGeneration
    if inRing.insert(ObjectIdentifier(source)).inserted { ring.append(source) }
  }

  /// There is work that no lane has taken.
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

  /// A helper is in the queue. It may have started meanwhile, and another one be the standby.
  mutating func helperIsInQueue(_ number: Int) {
    if standby?.number == number { standby?.isInQueue = true }
  }

  /// The source had no work when asked for some. That matters if it has not offered itself since.
  mutating func exhausted(_ source: Source, generation: Int) {
    guard generations[ObjectIdentifier(source)] == generation else { return }
    generations[ObjectIdentifier(source)] = nil
    holders.remove(ObjectIdentifier(source))
    if generations.isEmpty { clear() }
  }

  private mutating func clear() {
    ring = []
    head = 0
    inRing = []
  }

  /// A lane turns to something else, though the source may have more work. Another lane may have found it exhausted in
  /// the meantime, or be about to say so: the new generation makes that void.
  mutating func keep(_ source: Source, holds: Bool = false) {
    list(source, holds)
  }

  /// The source whose turn it is, for a lane; nil if there is none. The action is for the other sources.
  mutating func nextSource() -> (source: Source, generation: Int, action: Action)? {
    while head < ring.count {
      let source = ring[head]
      head += 1
      if head > 32, head * 2 > ring.count {
        ring.removeFirst(head)
        head = 0
      }
      guard let generation = generations[ObjectIdentifier(source)] else {
        inRing.remove(ObjectIdentifier(source))
        continue
      }
      ring.append(source)
      return (source, generation, generations.count > 1 ? demand() : .nothing)
    }
    clear()
    return nil
  }

  // MARK: - Lanes

  /// The standby has a slot now.
  mutating func helperStarted() {
    precondition(hasStandby, "A helper started that was not the standby")
    standby = nil
    wantsLoan = false
    helpers += 1
  }

  /// A helper gives up its slot.
  mutating func helperEnds() -> Action {
    precondition(helpers > 0, "A helper ended that had not started")
    helpers -= 1
    return hasWork ? demand() : .nothing
  }

  /// The base lane has nothing in flight. Returns whether it has work; otherwise it is idle now.
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

  /// The tree begins to wait for something that operations elsewhere may hold.
  mutating func waitBegins() { waits += 1 }

  /// It need no longer wait for it.
  mutating func waitEnds() {
    precondition(waits > 0, "A wait ended that had not begun")
    waits -= 1
  }

  /// Lends the slot, if it still may be had.
  mutating func lend() -> Bool {
    guard offersSlot else { return false }
    base = .lent
    return true
  }

  /// The slot is the tree's own again. Returns whether the base lane has work, and does it.
  mutating func slotReturned() -> Bool {
    precondition(base == .lent, "slotReturned() in \(base)")
    return baseIsFree()
  }

  /// A lane begins in a slot that another tree lends. As long as there is one, a standby waits for a slot of its own.
  mutating func loanBegins() -> Action {
    wantsLoan = false
    loans += 1
    return needStandby()
  }

  /// That lane gives the slot back.
  mutating func loanEnds() -> Action {
    precondition(loans > 0, "A loan ended that had not begun")
    loans -= 1
    return hasWork ? demand() : .nothing
  }

  /// The standby has a slot now, in which it goes on with what a lane does in a lent one.
  mutating func helperTakesOver() -> Action {
    helperStarted()
    guard loans > 1 else { return loanEnds() }
    loans -= 1
    return needStandby()
  }
}
