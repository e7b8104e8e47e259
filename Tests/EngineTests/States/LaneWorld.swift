@testable import CompositeOperations

/// The environment of the lanes of one queue: sources that get work, the queue that starts helpers,
/// and lanes that step as `QueuePool` makes them. Each step here is atomic under the lock.
///
/// With `loans`, the tree waits for something, and lends its slot; and another one may lend it a
/// slot. With `helpersComeLate`, other things may happen between the decision to add a helper, its
/// arrival in the queue, and when the tree hears of that.
///
/// The first source is like a parallel composition, the second like a sequence: while a piece of it
/// is under way it has nothing to give.
struct LaneWorld {
  /// Where a lane is.
  enum Stage: Hashable {
    /// It is in a slot that another tree lends, and may not begin yet.
    case toBegin
    /// It will look for a source, or give up its slot.
    case between
    /// It will ask a source for work.
    case attending(Int, generation: Int)
    /// The source had none; the lane will report that.
    case foundNothing(Int, generation: Int)
    /// A piece of work is being done, and does not outlast it.
    case running(Int)
    /// It is done; there may be more.
    case ran(Int)
    /// A leaf of that source keeps it.
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
        case .attending(let source, let generation): 10 + source + 10 * generation
        case .foundNothing(let source, let generation): 12 + source + 10 * generation
        case .ran(let source): 1 + source
        case .inFlight(let source): 3 + source
        case .running(let source): 5 + source
        }
      return rank + 1_000_000 * slot.rawValue
    }
  }

  enum Step: Hashable {
    /// A source gets a piece of work, which it will offer.
    case work(Int)
    case offer(Int)
    case startHelper
    /// A helper arrives in the queue, which may start it before the tree knows.
    case addHelper
    case helperIsInQueue(Int)
    /// The lane looks for a source, and ends if there is none.
    case look(lane: Int)
    case yield(lane: Int)
    /// The lane asks its source for work, which is done at once, or stays in flight.
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
  /// The pieces of work that each source has, and the offers that are still to be made of them.
  private(set) var pieces = [0, 0]
  private(set) var offersDue = [0, 0]
  private(set) var piecesLeft: Int
  private let sources = [LaneSource.a, .b]
  /// The sources that get work.
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

  /// Whether a source has work for a lane that asks now.
  func hasWork(_ source: Int) -> Bool { pieces[source] > 0 && !(source == 1 && isSequenceBusy) }

  private var isSequenceBusy: Bool { lanes.contains { $0.stage == .running(1) || $0.stage == .inFlight(1) } }

  /// The slots of the queue that are taken.
  var occupied: Int { lanes.count { $0.slot == .helper } + (holdsSlot ? 1 : 0) }

  var steps: [Step] {
    var steps: [Step] = []
    for source in 0..<2 {
      if piecesLeft > 0, suppliers.contains(source) { steps.append(.work(source)) }
      if offersDue[source] > 0 { steps.append(.offer(source)) }
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
      case .attending(let source, _):
        steps.append(.run(lane: index, goesOn: false))
        if hasWork(source) { steps.append(.run(lane: index, goesOn: true)) }
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
    case .work(let source):
      piecesLeft -= 1
      pieces[source] += 1
      offersDue[source] += 1
    case .offer(let source):
      offersDue[source] -= 1
      perform(state.offer(sources[source], holds: loans))
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
      if lanes[lane].stage == .inFlight(1), pieces[1] > 0 { perform(state.offer(sources[1], holds: loans)) }
      end(lane)
    case .run(let lane, let goesOn): run(lane, goesOn)
    case .finishRun(let lane):
      if case .running(let source) = lanes[lane].stage { lanes[lane].stage = .ran(source) }
    case .sayExhausted(let lane):
      guard case .foundNothing(let source, let generation) = lanes[lane].stage else { return }
      state.exhausted(sources[source], generation: generation)
      lanes[lane].stage = .between
    case .keep(let lane):
      guard case .ran(let source) = lanes[lane].stage else { return }
      state.keep(sources[source], holds: loans)
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
    guard let (source, generation, action) = state.nextSource() else { return end(lane) }
    lanes[lane].stage = .attending(source === sources[0] ? 0 : 1, generation: generation)
    perform(action)
  }

  private mutating func run(_ lane: Int, _ goesOn: Bool) {
    guard case .attending(let source, let generation) = lanes[lane].stage else { return }
    guard hasWork(source) else {
      lanes[lane].stage = .foundNothing(source, generation: generation)
      return
    }
    pieces[source] -= 1
    lanes[lane].stage = goesOn ? .inFlight(source) : .running(source)
    if source == 0, pieces[source] > 0 { perform(state.demand()) }
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
