import Testing

@testable import CompositeOperations

/// A composition of work for lanes that run nothing.
final class LaneSource: Sendable, CustomStringConvertible {
  let description: String

  init(_ name: String) { description = name }

  static let a = LaneSource("a")
  static let b = LaneSource("b")
}

/// The answers of the lanes of one queue to each input in each state.
@Suite("3.4 LaneState")
struct LaneStateTests {
  typealias Lanes = LaneState<LaneSource>

  /// Everything about the lanes that an answer may depend on.
  struct Situation: Sendable, Hashable, CustomStringConvertible {
    var base: Lanes.Base
    var helpers: Int
    var hasStandby: Bool
    var work: String

    var description: String {
      "base \(base), \(helpers) helpers\(hasStandby ? ", standby" : "")\(work.isEmpty ? "" : ", work of \(work)")"
    }

    static let all: [Situation] = Lanes.Base.allCases.flatMap { base in
      (0...2).flatMap { helpers in
        [false, true].flatMap { hasStandby in
          ["", "a", "b", "ab", "ba"].map { work in
            Situation(base: base, helpers: helpers, hasStandby: hasStandby, work: work)
          }
        }
      }
    }

    /// Lanes in this situation.
    func make() -> Lanes {
      var lanes = Lanes(holdsSlot: base != .none)
      if base == .lent {
        lanes.waitBegins()
        _ = lanes.lend()
      }
      if base == .idle || base == .working { _ = lanes.demand() }
      for _ in 0..<helpers {
        _ = lanes.demand()
        lanes.helperStarted()
      }
      if hasStandby { _ = lanes.demand() }
      if base == .idle { _ = lanes.baseContinues() }
      for name in work { lanes.keep(name == "a" ? .a : .b) }
      return lanes
    }

    /// The effect of a demand for one more lane.
    var demanded: (action: Lanes.Action, after: Situation) {
      var after = self
      if base == .idle {
        after.base = .working
        return (.wakeBase, after)
      }
      after.hasStandby = true
      return (hasStandby ? .nothing : .addHelper, after)
    }
  }

  private func situation(_ lanes: Lanes) -> Situation {
    Situation(
      base: lanes.base, helpers: lanes.helpers, hasStandby: lanes.hasStandby,
      work: lanes.compositions.map(\.description).joined())
  }

  @Test("Lanes can be brought into each situation, and count themselves right", arguments: Situation.all)
  func make_situation_isThatOne(_ before: Situation) {
    let lanes = before.make()
    #expect(situation(lanes) == before)
    #expect(lanes.hasWork == !before.work.isEmpty)
    #expect(lanes.firstSource?.description.first == before.work.first)
    #expect(lanes.operationCount == before.helpers + (before.hasStandby ? 1 : 0) + (before.base == .none ? 0 : 1))
    #expect(lanes.activeCount == before.helpers + (before.base == .working ? 1 : 0))
  }

  @Test("A demand wakes the base lane if it is idle, else adds the one standby", arguments: Situation.all)
  func demand_inAnySituation_wakesOrAdds(_ before: Situation) {
    var lanes = before.make()
    #expect(lanes.demand() == before.demanded.action)
    #expect(situation(lanes) == before.demanded.after)
  }

  @Test("An offer lists the composition once, and demands a lane", arguments: Situation.all)
  func offer_inAnySituation_listsAndDemands(_ before: Situation) {
    var lanes = before.make()
    #expect(lanes.offer(.a) == before.demanded.action)
    #expect(lanes.offer(.a) == before.demanded.after.demanded.action)
    var after = before.demanded.after.demanded.after
    if !before.work.contains("a") { after.work += "a" }
    #expect(situation(lanes) == after)
  }

  @Test("A composition that is kept is listed once, and adds no helper", arguments: Situation.all)
  func keep_inAnySituation_listsOnly(_ before: Situation) {
    var lanes = before.make()
    lanes.keep(.b)
    lanes.keep(.b)
    var after = before
    if !before.work.contains("b") { after.work += "b" }
    #expect(situation(lanes) == after)
  }

  @Test(
    "The next composition is the first, which goes behind the others; a lane is demanded for these",
    arguments: Situation.all
  )
  func nextSource_inAnySituation_takesTurns(_ before: Situation) {
    var lanes = before.make()
    let next = lanes.nextSource()
    #expect(next?.composition.description.first == before.work.first)
    var after = before
    if before.work.count > 1 {
      #expect(next?.action == before.demanded.action)
      after = before.demanded.after
      after.work = String(before.work.reversed())
    } else if !before.work.isEmpty {
      #expect(next?.action == .nothing)
    }
    #expect(situation(lanes) == after)
  }

  @Test("A composition that was found exhausted is no longer listed", arguments: Situation.all)
  func exhausted_sinceTheLastOffer_isRemoved(_ before: Situation) throws {
    var lanes = before.make()
    guard !before.work.isEmpty else { return #expect(lanes.nextSource() == nil) }
    let next = lanes.nextSource()
    let (composition, generation, _) = try #require(next)
    lanes.exhausted(composition, generation: generation)
    #expect(!lanes.compositions.contains { $0 === composition })
    #expect(lanes.hasWork == (before.work.count > 1))
    lanes.exhausted(composition, generation: generation)
    #expect(lanes.compositions.count == before.work.count - 1)
  }

  @Test("A composition that offered itself again since it was taken stays", arguments: Situation.all)
  func exhausted_beforeTheLastOffer_isIgnored(_ before: Situation) throws {
    var lanes = before.make()
    guard !before.work.isEmpty else { return }
    let next = lanes.nextSource()
    let (composition, generation, _) = try #require(next)
    _ = lanes.offer(composition)
    lanes.exhausted(composition, generation: generation)
    #expect(lanes.compositions.count { $0 === composition } == 1)
    // So does a composition that another lane found exhausted in between, and that was then kept.
    let nextAgain = lanes.nextSource()
    let (again, second, _) = try #require(nextAgain)
    lanes.exhausted(again, generation: second)
    lanes.keep(again)
    lanes.exhausted(again, generation: second)
    #expect(lanes.compositions.count { $0 === again } == 1)
  }

  @Test("A standby that starts becomes a helper", arguments: Situation.all.filter(\.hasStandby))
  func helperStarted_standby_counts(_ before: Situation) {
    var lanes = before.make()
    lanes.helperStarted()
    var after = before
    after.hasStandby = false
    after.helpers += 1
    #expect(situation(lanes) == after)
  }

  @Test(
    "A helper that ends while there is work demands a lane in its stead",
    arguments: Situation.all.filter { $0.helpers > 0 })
  func helperEnds_inAnySituation_demandsIfThereIsWork(_ before: Situation) {
    var lanes = before.make()
    var after = before
    after.helpers -= 1
    let action = lanes.helperEnds()
    #expect(action == (before.work.isEmpty ? .nothing : after.demanded.action))
    #expect(situation(lanes) == (before.work.isEmpty ? after : after.demanded.after))
  }

  @Test(
    "The base lane goes on while there is work, else it is idle",
    arguments: Situation.all.filter { $0.base == .working })
  func baseContinues_inAnySituation_ifThereIsWork(_ before: Situation) {
    var lanes = before.make()
    #expect(lanes.baseContinues() == !before.work.isEmpty)
    var after = before
    if before.work.isEmpty { after.base = .idle }
    #expect(situation(lanes) == after)
  }

  // MARK: - Loans

  @Test("A tree that waits offers its slot while nothing runs in it, and lends it once", arguments: Situation.all)
  func lend_inAnySituation_ifTreeWaitsAndBaseIsIdle(_ before: Situation) {
    var lanes = before.make()
    let wasWaiting = before.base == .lent
    #expect(!lanes.offersSlot)
    if !wasWaiting { lanes.waitBegins() }
    #expect(lanes.offersSlot == (before.base == .idle))
    let isLent = [lanes.lend(), lanes.lend()]
    #expect(isLent == [before.base == .idle, false])
    #expect(lanes.base == (before.base == .idle ? .lent : before.base))
    #expect(!lanes.offersSlot)
    lanes.waitEnds()
    #expect(lanes.waits == 0 && !lanes.offersSlot)
  }

  @Test(
    "A slot that is returned does the tree's work, if there is some",
    arguments: Situation.all.filter { $0.base == .lent })
  func slotReturned_inAnySituation_worksIfThereIsWork(_ before: Situation) {
    var lanes = before.make()
    let works = lanes.slotReturned()
    #expect(works == !before.work.isEmpty)
    #expect(lanes.base == (before.work.isEmpty ? .idle : .working))
    #expect(lanes.offersSlot == before.work.isEmpty)
  }

  @Test("Work of a holder wants a loan from when a standby waits for it until a lane begins", arguments: Situation.all)
  func offer_ofHolder_wantsLoanUntilLaneBegins(_ before: Situation) {
    for begins in [true, false] {
      var lanes = before.make()
      _ = lanes.offer(.a)
      #expect(!lanes.wantsLoan)
      _ = before.make().base == .idle ? lanes.demand() : .nothing
      _ = lanes.offer(.a, holds: true)
      #expect(lanes.wantsLoan && lanes.hasStandby)
      if begins {
        let action = lanes.loanBegins()
        #expect(action == .nothing && lanes.loans == 1)
      } else {
        lanes.helperStarted()
      }
      #expect(!lanes.wantsLoan && lanes.hasStandby == begins)
    }
  }

  @Test("Beside a loan there is a standby, which takes it over", arguments: Situation.all)
  func loan_inAnySituation_hasStandby(_ before: Situation) {
    var lanes = before.make()
    let actions = [lanes.loanBegins(), lanes.loanBegins()]
    #expect(actions == [before.hasStandby ? .nothing : .addHelper, .nothing])
    let helpers = lanes.helpers
    // There is still a loan to take over, so another standby waits; after that, only if there is
    // work.
    let next = lanes.helperTakesOver()
    #expect(next == .addHelper)
    #expect(lanes.helpers == helpers + 1 && lanes.loans == 1 && lanes.hasStandby)
  }

  @Test("Lanes in lent slots may begin once the standby is in the queue", arguments: Situation.all)
  func mayBeginLoans_onceStandbyIsInTheQueue(_ before: Situation) throws {
    var lanes = before.make()
    #expect(lanes.mayBeginLoans == !before.hasStandby)
    _ = lanes.loanBegins()
    let first = try #require(lanes.standby)
    #expect(!lanes.mayBeginLoans)
    lanes.helperIsInQueue(first.number)
    #expect(lanes.mayBeginLoans)
    // The next helper is another standby, whatever is reported of the first.
    lanes.helperStarted()
    #expect(lanes.mayBeginLoans)
    _ = lanes.loanBegins()
    lanes.helperIsInQueue(first.number)
    #expect(!lanes.mayBeginLoans)
    lanes.helperIsInQueue(try #require(lanes.standby).number)
    #expect(lanes.mayBeginLoans)
  }

  @Test("A loan that ends while there is work demands a lane in its stead", arguments: Situation.all)
  func loanEnds_inAnySituation_demandsIfThereIsWork(_ before: Situation) {
    var lanes = before.make()
    _ = lanes.loanBegins()
    let action = lanes.loanEnds()
    #expect(action == (!before.work.isEmpty && before.base == .idle ? .wakeBase : .nothing))
    #expect(lanes.loans == 0 && lanes.hasStandby)
  }

  @Test("A base lane that has nothing left wants no loan: it may lend its slot", arguments: [false, true])
  func base_becomesIdle_wantsNoLoan(isLent: Bool) throws {
    var lanes = Lanes(holdsSlot: true)
    lanes.waitBegins()
    if isLent { _ = lanes.lend() } else { _ = lanes.demand() }
    _ = lanes.offer(.a, holds: true)
    #expect(lanes.wantsLoan)
    let next = lanes.nextSource()
    let (composition, generation, _) = try #require(next)
    lanes.exhausted(composition, generation: generation)
    let works = isLent ? lanes.slotReturned() : lanes.baseContinues()
    #expect(!works && !lanes.wantsLoan && lanes.offersSlot)
  }

  @Test("Sources take turns, however many there are and however often they are taken")
  func nextSource_manySources_isRoundRobin() {
    var lanes = Lanes(holdsSlot: false)
    let compositions = (0..<50).map { LaneSource("\($0)") }
    for composition in compositions { _ = lanes.offer(composition) }
    for round in 0..<5 {
      let taken = (0..<50).compactMap { _ in lanes.nextSource()?.composition.description }
      #expect(taken == compositions.map(\.description), "round \(round)")
    }
    for _ in 0..<50 {
      guard let (composition, generation, _) = lanes.nextSource() else { break }
      lanes.exhausted(composition, generation: generation)
    }
    #expect(!lanes.hasWork && lanes.compositions.isEmpty && lanes.firstSource == nil && lanes.nextSource() == nil)
  }

  @Test("Sources without work are handed out to be released, though no lane asks for another")
  func exhausted_lastSource_isHandedOut() throws {
    var lanes = Lanes(holdsSlot: false)
    weak var first: LaneSource?
    weak var second: LaneSource?
    do {
      let compositions = [LaneSource("first"), LaneSource("second")]
      (first, second) = (compositions[0], compositions[1])
      for composition in compositions { _ = lanes.offer(composition) }
      for _ in 0..<2 {
        let next = lanes.nextSource()
        let (composition, generation, _) = try #require(next)
        lanes.exhausted(composition, generation: generation)
      }
    }
    // The caller releases them, under no lock.
    #expect(first != nil && second != nil)
    #expect(lanes.takeDropped().map(\.description) == ["first", "second", "first", "second"])
    #expect(first == nil && second == nil)
    #expect(!lanes.hasWork && lanes.takeDropped().isEmpty)
  }
}
