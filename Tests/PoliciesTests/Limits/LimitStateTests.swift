import TestSupport
import Testing

@testable import CompositeOperations

extension LimitState where Owner == Int {
  /// Asks for room for a reservation whose number is its owner.
  fileprivate mutating func request(
    _ weight: Int, for owner: Int, inside holder: Int? = nil, at now: Duration
  ) -> (number: Int, answer: Answer, change: Change) {
    let (answer, change) = request(weight, for: owner, number: owner, inside: holder, at: now)
    return (owner, answer, change)
  }
}

/// The state of a shared limit: by hand, and against a model over random histories.
@Suite("Shared limits: the state", .hangLimit)
struct LimitStateTests {
  private typealias State = LimitState<Int>

  @Test func head_heavy_isNotOvertaken() {
    var state = State(maxConcurrent: 3)
    #expect(state.request(2, for: 1, at: .zero).1 == .granted)
    #expect(state.request(3, for: 2, at: .zero).1 == .waiting)
    #expect(state.request(1, for: 3, at: .zero).1 == .waiting)
    #expect(state.release(1, at: .zero).granted == [2])
    #expect(state.release(2, at: .zero).granted == [3])
    #expect(state.release(3, at: .zero).granted == [])
    #expect(state.reservations.isEmpty && state.inUse == 0)
  }

  @Test func withdrawal_ofTheHead_letsTheNextGo() {
    var state = State(maxConcurrent: 3)
    _ = state.request(2, for: 1, at: .zero)
    _ = state.request(3, for: 2, at: .zero)
    _ = state.request(1, for: 3, at: .zero)
    #expect(state.withdraw(2, at: .zero).granted == [3])
    #expect(state.inUse == 3)
    #expect(state.withdraw(3, at: .zero).granted == [])
    #expect(state.reservations[3]?.isHeld == true)
  }

  @Test func number_lower_standsBefore() {
    var state = State(maxConcurrent: 1)
    _ = state.request(1, for: 1, at: .zero)
    _ = state.request(1, for: 9, at: .zero)
    _ = state.request(1, for: 5, at: .zero)
    #expect(state.release(1, at: .zero).granted == [5])
  }

  @Test func limit_changed_grantsOrRefuses() {
    var state = State(maxConcurrent: 2)
    _ = state.request(2, for: 1, at: .zero)
    for owner in 2...4 { _ = state.request(owner == 3 ? 2 : 1, for: owner, at: .zero) }
    #expect(state.setMaxConcurrent(5, at: .zero).granted == [2, 3])
    #expect(state.inUse == 5)
    let lowered = state.setMaxConcurrent(1, at: .zero)
    #expect(lowered.granted == [] && lowered.refused.isEmpty && state.inUse == 5)
    #expect(state.request(2, for: 5, at: .zero).1 == .refused(greatestWeight: 1))
    _ = state.setMaxConcurrent(2, at: .zero)
    #expect(state.request(2, for: 6, at: .zero).1 == .waiting)
    #expect(state.setMaxConcurrent(1, at: .zero).refused.map(\.owner) == [6])
    #expect(state.release(1, at: .zero).granted == [])
    #expect(state.release(2, at: .zero).granted == [])
    #expect(state.release(3, at: .zero).granted == [4])
  }

  @Test func rate_emptied_setsAnAlarmForTheHead() {
    var state = State(maxConcurrent: .max, rate: .tokens(4, per: .seconds(4)))
    #expect(state.request(3, for: 1, at: .zero).1 == .granted)
    let (_, second, change) = state.request(3, for: 2, at: .zero)
    #expect(second == .waiting && change.alarm == .set(.seconds(2), number: 1))
    #expect(state.request(1, for: 3, at: .zero).2.alarm == .keep)
    // Too early, as clocks may be.
    #expect(state.wake(1, at: .seconds(1)).alarm == .set(.seconds(2), number: 2))
    #expect(state.wake(1, at: .seconds(2)).granted == [])
    let woken = state.wake(2, at: .seconds(2))
    #expect(woken.granted == [2] && woken.alarm == .set(.seconds(3), number: 3))
    #expect(state.withdraw(3, at: .seconds(2)).alarm == .forget)
    #expect(state.wake(3, at: .seconds(9)).granted == [])
  }

  @Test func rate_changed_keepsTheBucketInProportion() {
    var state = State(maxConcurrent: .max, rate: .tokens(10, per: .seconds(10)))
    #expect(state.request(5, for: 1, at: .zero).1 == .granted)
    // Half full of 100.
    #expect(state.setRate(.tokens(100, per: .seconds(10)), at: .zero).alarm == .keep)
    #expect(state.request(50, for: 2, at: .zero).1 == .granted)
    #expect(state.request(10, for: 3, at: .zero).2.alarm == .set(.seconds(1), number: 1))
    // Empty of 2.
    let slowed = state.setRate(.tokens(2, per: .seconds(2)), at: .zero)
    #expect(slowed.refused.map(\.owner) == [3] && slowed.alarm == .forget)
    #expect(state.request(1, for: 4, at: .zero).2.alarm == .set(.seconds(1), number: 3))
    #expect(state.setRate(nil, at: .zero).granted == [4])
  }

  @Test func inside_ofAHolder_usesItsRoomAndTheRate() {
    var state = State(maxConcurrent: 1, rate: .tokens(2, per: .seconds(2)))
    #expect(state.request(1, for: 1, at: .zero).1 == .granted)
    #expect(state.request(1, for: 2, at: .zero).1 == .waiting)
    #expect(state.request(1, for: 3, inside: 1, at: .zero).1 == .granted)
    // Inside that one, which uses the room of the first.
    let (_, answer, change) = state.request(2, for: 4, inside: 3, at: .zero)
    #expect(answer == .waiting && change.alarm == .set(.seconds(2), number: 1))
    #expect(state.release(1, at: .zero).granted == [])
    #expect(state.release(3, at: .zero).granted == [])
    #expect(state.inUse == 1)
    #expect(state.wake(1, at: .seconds(2)).granted == [4])
    #expect(state.release(4, at: .seconds(2)).alarm == .set(.seconds(3), number: 2))
    #expect(state.wake(2, at: .seconds(3)).granted == [2])
  }

  // MARK: - Random histories

  @Test(arguments: 0..<8) func history_random_doesWhatTheModelDoes(seed: Int) {
    var waits = 0
    for number in 0..<Scale.count(300, least: 60) {
      var history = LimitHistory(seed: UInt64(seed * 1_000_000 + number))
      for _ in 0..<60 where history.complaint == nil { history.step() }
      if history.complaint == nil { history.end() }
      #expect(history.complaint == nil, "seed \(seed * 1_000_000 + number), step \(history.steps)")
      waits += history.waits
    }
    #expect(waits > 100)
  }
}

/// The simplest model: it checks all reservations each time, and counts tokens. The bucket fills by
/// one each second.
private struct LimitModel {
  struct Reservation {
    let id: Int
    let weight: Int
    let lender: Int?
    var isHeld = false
    var isReleased = false
  }

  var reservations: [Reservation] = []
  var maxConcurrent: Int
  let capacity: Int?
  var tokens = 0
  var now = 0

  func isUsed(_ reservation: Reservation) -> Bool {
    !reservation.isReleased || reservations.contains { $0.lender == reservation.id }
  }

  var inUse: Int { reservations.filter { $0.isHeld && $0.lender == nil }.map(\.weight).reduce(0, +) }

  var greatestWeight: Int { min(maxConcurrent, capacity ?? .max) }

  /// The first that waits.
  var next: Reservation? {
    let waiting = reservations.filter { !$0.isHeld }.sorted { $0.id < $1.id }
    return waiting.first { $0.lender != nil } ?? waiting.first
  }

  /// How many seconds the first must wait for the rate, if only for that.
  var due: Int? {
    guard let next, next.lender != nil || inUse + next.weight <= maxConcurrent, capacity != nil, next.weight > tokens
    else { return nil }
    return now + next.weight - tokens
  }

  mutating func settle() {
    reservations = reservations.filter(isUsed)
    while let next, next.lender != nil || inUse + next.weight <= maxConcurrent, capacity == nil || next.weight <= tokens
    {
      if capacity != nil { tokens -= next.weight }
      reservations[reservations.firstIndex { $0.id == next.id }!].isHeld = true
    }
  }

  mutating func pass(_ seconds: Int) {
    now += seconds
    if let capacity { tokens = min(capacity, tokens + seconds) }
    settle()
  }

  mutating func end(_ id: Int) {
    let index = reservations.firstIndex { $0.id == id }!
    if reservations[index].isHeld, reservations[index].lender == nil {
      reservations[index].isReleased = true
    } else {
      reservations.remove(at: index)
    }
    settle()
  }
}

private struct LimitHistory {
  private var random: SeededRandomNumberGenerator
  private var state: LimitState<Int>
  private var model: LimitModel
  /// The reservations that were requested, and neither refused nor ended.
  private var live: Set<Int> = []
  private var lastID = 0
  private var alarm: (at: Duration, number: Int)?
  private(set) var (steps, waits) = (0, 0)
  private(set) var complaint: String?

  init(seed: UInt64) {
    random = SeededRandomNumberGenerator(seed: seed)
    let capacity = random.chance(60) ? random.number(1...6) : nil
    let maxConcurrent = random.number(1...6)
    state = LimitState(
      maxConcurrent: maxConcurrent, rate: capacity.map { SharedLimit.Rate.tokens($0, per: .seconds($0)) })
    model = LimitModel(maxConcurrent: maxConcurrent, capacity: capacity, tokens: capacity ?? 0)
  }

  private var now: Duration { .seconds(model.now) }

  mutating func step() {
    steps += 1
    switch random.number(0...99) {
    case 0..<50: request()
    case 50..<75: if let id = live.sorted().randomElement(using: &random) { end(id) }
    case 75..<80: changeLimit()
    default: pass(random.number(1...3))
    }
    compare()
  }

  /// All end: nothing is left.
  mutating func end() {
    while let id = live.min(), complaint == nil {
      end(id)
      compare()
    }
    if !state.reservations.isEmpty || state.inUse != 0 || alarm != nil { complain("\(state) is not empty") }
  }

  private mutating func request() {
    let weight = random.number(1...4)
    let held = live.filter { state.reservations[$0]?.isHeld == true }.sorted()
    let holder = random.chance(30) ? held.randomElement(using: &random) : nil
    // Some join the line later than others with higher numbers.
    lastID += random.number(1...2)
    let id =
      random.chance(20) && state.reservations[lastID - 1] == nil && !live.contains(lastID - 1) ? lastID - 1 : lastID
    let lender = holder.map { state.reservations[$0]!.lender ?? $0 }
    let (answer, change) = state.request(weight, for: id, number: id, inside: holder, at: now)
    note(change)
    let greatestWeight = lender == nil ? model.greatestWeight : model.capacity ?? .max
    let isTooHeavy = weight > greatestWeight
    if isTooHeavy != (answer == .refused(greatestWeight: greatestWeight)) { complain("\(weight) is \(answer)") }
    guard !isTooHeavy else { return }
    live.insert(id)
    if answer == .waiting { waits += 1 }
    model.reservations.append(LimitModel.Reservation(id: id, weight: weight, lender: lender))
    model.settle()
  }

  private mutating func end(_ id: Int) {
    note(
      random.chance(50) || state.reservations[id]?.isHeld == true
        ? state.release(id, at: now) : state.withdraw(id, at: now))
    live.remove(id)
    model.end(id)
  }

  private mutating func changeLimit() {
    model.maxConcurrent = random.number(1...6)
    let change = state.setMaxConcurrent(model.maxConcurrent, at: now)
    note(change)
    let heavy = model.reservations.filter { !$0.isHeld && $0.lender == nil && $0.weight > model.greatestWeight }.map(
      \.id)
    if change.refused.map(\.owner) != heavy.sorted() { complain("\(change.refused) are refused, not \(heavy)") }
    for id in heavy { live.remove(id) }
    model.reservations.removeAll { heavy.contains($0.id) }
    model.settle()
  }

  private mutating func pass(_ seconds: Int) {
    for _ in 0..<seconds {
      model.pass(1)
      if let alarm, alarm.at <= now { note(state.wake(alarm.number, at: now)) }
    }
  }

  private mutating func note(_ change: LimitState<Int>.Change) {
    switch change.alarm {
    case .keep: if let set = alarm, !state.isCurrent(alarm: set.number) { alarm = nil }
    case .set(let time, let number): alarm = (time, number)
    case .forget: alarm = nil
    }
  }

  private mutating func compare() {
    let mine = state.reservations.filter(\.value.isHeld).keys.sorted()
    let theirs = model.reservations.filter(\.isHeld).map(\.id).sorted()
    if mine != theirs { complain("held are \(mine), not \(theirs)") }
    if state.reservations.count != model.reservations.count {
      complain("\(state.reservations.count) reservations, not \(model.reservations.count)")
    }
    if state.inUse != model.inUse { complain("\(state.inUse) in use, not \(model.inUse)") }
    if alarm?.at != model.due.map({ .seconds($0) }) {
      complain("woken at \(alarm?.at as Any), not \(model.due as Any)")
    }
  }

  private mutating func complain(_ text: String) {
    complaint = complaint ?? text
  }
}
