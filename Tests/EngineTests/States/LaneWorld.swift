@testable import CompositeOperations

/// The environment of the lanes of one queue: compositions that get work, the queue that starts
/// helpers, and lanes that step as `QueuePool` makes them. Each step here is atomic under the lock.
///
/// With `loans`, the tree waits for something, and lends its slot; and another one may lend it a
/// slot. With `helpersComeLate`, other things may happen between the decision to add a helper, its
/// arrival in the queue, and when the tree hears of that.
///
/// The first composition is like a parallel composition, the second like a sequence: while a piece
/// of it is under way it has nothing to give.
struct LaneWorld {
  /// Where a lane is.
  enum Stage: Hashable {
    /// It is in a slot that another tree lends, and may not begin yet.
    case toBegin
    /// It will look for a composition, or give up its slot.
    case between
    /// It will ask a composition for work.
    case attending(Int, generation: Int)
    /// The composition had none; the lane will report that.
    case foundNothing(Int, generation: Int)
    /// A piece of work is being done, and does not outlast it.
    case running(Int)
    /// It is done; there may be more.
    case ran(Int)
    /// A leaf of that composition keeps it.
    case inFlight(Int)
  }

  enum Slot: Int { case base, helper, loan }

  struct Lane: Hashable {
    let slot: Slot
    var stage = Stage.between

    var isBase: Bool { slot == .base }

    /// An arbitrary order of stages.
    var rank: Int {
      let rank =
        switch stage {
        case .between: 0
        case .toBegin: 9
        case .attending(let composition, let generation): 10 + composition + 10 * generation
        case .foundNothing(let composition, let generation): 12 + composition + 10 * generation
        case .ran(let composition): 1 + composition
        case .inFlight(let composition): 3 + composition
        case .running(let composition): 5 + composition
        }
      return rank + 1_000_000 * slot.rawValue
    }
  }

  enum Step: Hashable {
    /// A composition gets a piece of work, which it will offer.
    case work(Int)
    case offer(Int)
    case startHelper
    /// A helper arrives in the queue, which may start it before the tree knows.
    case addHelper
    case helperIsInQueue(Int)
    /// The lane looks for a composition, and ends if there is none.
    case look(lane: Int)
    case yield(lane: Int)
    /// The lane asks its composition for work, which is done at once, or stays in flight.
    case run(lane: Int, goesOn: Bool)
    case finishRun(lane: Int)
    case sayExhausted(lane: Int)
    case keep(lane: Int)
    case settle(lane: Int)
    /// Another tree takes the slot, and gives it back.
    case lend, slotReturned
    /// Another tree lends a slot: it is found, and then a lane begins in it.
    case match, borrow, begin
  }

  private(set) var state: LaneState<LaneSource>
  private(set) var lanes: [Lane] = []
  private(set) var queuedHelpers = 0
  /// The standby to be added, and those in the queue that the tree does not know of yet.
  private(set) var helperToAdd: Int?
  private(set) var arrivedHelpers: [Int] = []
  private(set) var isLoanMatched = false
  /// Whether a lane began in a lent slot while no operation of the queue represented it.
  private(set) var hasMissedCancels = false
  /// The pieces of work that each composition has, and the offers that are still to be made of
  /// them.
  private(set) var pieces = [0, 0]
  private(set) var offersDue = [0, 0]
  private(set) var piecesLeft: Int
  private let compositions = [LaneSource.a, .b]
  /// The compositions that get work.
  private let suppliers: [Int]
  private let limit: Int
  private let holdsSlot: Bool
  private let loans: Bool
  private let helpersComeLate: Bool

  init(holdsSlot: Bool, limit: Int, pieces: Int, of suppliers: [Int], loans: Bool, helpersComeLate: Bool) {
    self.suppliers = suppliers
    state = LaneState(holdsSlot: holdsSlot)
    self.loans = loans
    self.helpersComeLate = helpersComeLate
    if loans { state.waitBegins() }
    piecesLeft = pieces
    self.limit = limit
    self.holdsSlot = holdsSlot
  }

  /// Whether a composition has work for a lane that asks now.
  func hasWork(_ composition: Int) -> Bool { pieces[composition] > 0 && !(composition == 1 && isSequenceBusy) }

  private var isSequenceBusy: Bool { lanes.contains { $0.stage == .running(1) || $0.stage == .inFlight(1) } }

  /// The slots of the queue that are taken.
  var occupied: Int { lanes.count { $0.slot == .helper } + (holdsSlot ? 1 : 0) }

  var steps: [Step] {
    var steps: [Step] = []
    for composition in 0..<2 {
      if piecesLeft > 0, suppliers.contains(composition) { steps.append(.work(composition)) }
      if offersDue[composition] > 0 { steps.append(.offer(composition)) }
    }
    if queuedHelpers > 0, occupied < limit { steps.append(.startHelper) }
    if helperToAdd != nil { steps.append(.addHelper) }
    steps += arrivedHelpers.map { .helperIsInQueue($0) }
    if loans {
      if state.offersSlot { steps.append(.lend) }
      if state.base == .lent { steps.append(.slotReturned) }
      if state.wantsLoan, !isLoanMatched { steps.append(.match) }
      if isLoanMatched { steps.append(.borrow) }
      if state.mayBeginLoans, lanes.contains(where: { $0.stage == .toBegin }) { steps.append(.begin) }
    }
    for (index, lane) in lanes.enumerated() {
      switch lane.stage {
      case .toBegin: break
      case .between: steps += [.look(lane: index), .yield(lane: index)]
      case .attending(let composition, _):
        steps.append(.run(lane: index, goesOn: false))
        if hasWork(composition) { steps.append(.run(lane: index, goesOn: true)) }
      case .foundNothing: steps.append(.sayExhausted(lane: index))
      case .running: steps.append(.finishRun(lane: index))
      case .ran: steps.append(.keep(lane: index))
      case .inFlight: steps.append(.settle(lane: index))
      }
    }
    return steps
  }

  mutating func take(_ step: Step) {
    switch step {
    case .work(let composition):
      piecesLeft -= 1
      pieces[composition] += 1
      offersDue[composition] += 1
    case .offer(let composition):
      offersDue[composition] -= 1
      perform(state.offer(compositions[composition], holds: loans))
    case .startHelper:
      queuedHelpers -= 1
      if let loan = lanes.firstIndex(where: { $0.slot == .loan }) {
        lanes[loan] = Lane(slot: .helper, stage: lanes[loan].stage)
        perform(state.helperTakesOver())
        // By the helper itself, so while it is in the queue.
        if helperToAdd != nil { addHelper() }
      } else {
        state.helperStarted()
        lanes.append(Lane(slot: .helper))
      }
    case .addHelper: addHelper()
    case .helperIsInQueue(let number):
      arrivedHelpers.removeAll { $0 == number }
      state.helperIsInQueue(number)
    case .look(let lane): look(lane)
    case .yield(let lane): end(lane)
    case .settle(let lane):
      // A sequence continues, and offers itself before the slot is given up.
      if lanes[lane].stage == .inFlight(1), pieces[1] > 0 { perform(state.offer(compositions[1], holds: loans)) }
      end(lane)
    case .run(let lane, let goesOn): run(lane, goesOn)
    case .finishRun(let lane):
      if case .running(let composition) = lanes[lane].stage { lanes[lane].stage = .ran(composition) }
    case .sayExhausted(let lane):
      guard case .foundNothing(let composition, let generation) = lanes[lane].stage else { return }
      state.exhausted(compositions[composition], generation: generation)
      lanes[lane].stage = .between
    case .keep(let lane):
      guard case .ran(let composition) = lanes[lane].stage else { return }
      state.keep(compositions[composition], holds: loans)
      lanes[lane].stage = .between
    case .lend: _ = state.lend()
    case .slotReturned: if state.slotReturned() { lanes.append(Lane(slot: .base)) }
    case .match: isLoanMatched = true
    case .borrow:
      isLoanMatched = false
      lanes.append(Lane(slot: .loan, stage: .toBegin))
      perform(state.loanBegins())
    case .begin:
      for lane in lanes.indices where lanes[lane].stage == .toBegin {
        lanes[lane].stage = .between
        if lanes[lane].slot == .loan, queuedHelpers == 0, !lanes.contains(where: { $0.slot == .helper }) {
          hasMissedCancels = true
        }
      }
    }
    lanes.sort { $0.rank < $1.rank }  // it does not matter which helper is where
  }

  private mutating func look(_ lane: Int) {
    guard let (composition, generation, action) = state.nextSource() else { return end(lane) }
    lanes[lane].stage = .attending(composition === compositions[0] ? 0 : 1, generation: generation)
    perform(action)
  }

  private mutating func run(_ lane: Int, _ goesOn: Bool) {
    guard case .attending(let composition, let generation) = lanes[lane].stage else { return }
    guard hasWork(composition) else {
      lanes[lane].stage = .foundNothing(composition, generation: generation)
      return
    }
    pieces[composition] -= 1
    lanes[lane].stage = goesOn ? .inFlight(composition) : .running(composition)
    if composition == 0, pieces[composition] > 0 { perform(state.demand()) }
  }

  /// The slot is given up, or kept by the base lane, which continues if there is work.
  private mutating func end(_ lane: Int) {
    switch lanes[lane].slot {
    case .base:
      if state.baseContinues() { lanes[lane].stage = .between } else { lanes.remove(at: lane) }
    case .helper:
      lanes.remove(at: lane)
      perform(state.helperEnds())
    case .loan:
      lanes.remove(at: lane)
      perform(state.loanEnds())
    }
  }

  private mutating func perform(_ action: LaneState<LaneSource>.Action) {
    switch action {
    case .nothing: break
    case .wakeBase: lanes.append(Lane(slot: .base))
    case .addHelper:
      helperToAdd = state.standby?.number
      if !helpersComeLate { addHelper() }
    }
  }

  private mutating func addHelper() {
    guard let number = helperToAdd.take() else { return }
    queuedHelpers += 1
    if helpersComeLate {
      // A late report stands for all of those.
      arrivedHelpers = arrivedHelpers.suffix(1) + [number]
    } else {
      state.helperIsInQueue(number)
    }
  }
}
