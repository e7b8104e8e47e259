import TestSupport
import Testing

@testable import CompositeOperations

/// The state against the model, over random histories.
@Suite("Exclusion: the state agrees with the model", .hangLimit)
struct ExclusionStateRandomTests {
  /// One history.
  private struct History {
    var random: SeededRandomNumberGenerator
    var state = ExclusionState<Int>()
    var lastNumber = 0
    var model = ExclusionModel()
    /// The requests that have not been released, with the ancestors that operations inside them
    /// have.
    var live: [Int: [Int]] = [:]
    var (refusals, waits, overtakings, steps) = (0, 0, 0, 0)
    var complaint: String?
    private static let categories: [ExclusionCategory] = ["a", "b", "c", "d"]

    init(seed: UInt64) {
      random = SeededRandomNumberGenerator(seed: seed)
      for category in History.categories where random.chance(30) {
        let limit = random.number(1...3)
        _ = state.setLimit(limit, of: category)
        model.setLimit(limit, of: category)
      }
    }

    private var held: [Int] { live.keys.filter { state.reservations[$0]?.isHeld == true }.sorted() }
    private var waiting: [Int] { live.keys.filter { state.reservations[$0]?.isHeld == false }.sorted() }

    mutating func step() {
      steps += 1
      switch random.number(0...99) {
      case 0..<60: request()
      case 60..<85: release()
      case 85..<95: withdraw()
      default: changeLimit()
      }
      compare()
    }

    private mutating func request() {
      var ancestors: [Int] = []
      if random.chance(60), !held.isEmpty {
        let parent = random.pick(held)
        ancestors = [parent] + live[parent]!
      }
      let count = random.number(1...3)
      let wanted = (0..<count).map { _ in random.pick(History.categories) }
      let id = state.reservations.keys.max().map { $0 } ?? 0
      lastNumber += 1
      let (answer, change) = state.request(wanted, for: id, number: lastNumber, ancestors: ancestors)
      let isAccepted = model.request(lastNumber, wanted, ancestors: ancestors)
      if !change.granted.isEmpty { overtakings += 1 }
      if case .refused(let circle) = answer {
        refusals += 1
        if isAccepted { complain("\(wanted) in \(ancestors) is refused") }
        if circle.isEmpty { complain("an empty circle") }
      } else {
        if !isAccepted { complain("\(wanted) in \(ancestors) is not refused") }
        live[lastNumber] = ancestors
        if case .waiting = answer { waits += 1 }
      }
    }

    /// Releases an entry without a waiting one inside: its operation may end, though operations
    /// inside may still hold categories.
    private mutating func release() {
      let blocked = Set(waiting.flatMap { live[$0]! })
      guard let id = held.filter({ !blocked.contains($0) }).randomElement(using: &random) else { return }
      release(id)
    }

    private mutating func withdraw() {
      guard let id = waiting.randomElement(using: &random) else { return }
      release(id)
    }

    private mutating func release(_ id: Int) {
      _ = state.release(id)
      model.release(id)
      live[id] = nil
    }

    private mutating func changeLimit() {
      let category = random.pick(History.categories)
      let limit = random.number(1...3)
      let before = Set(state.reservations.keys)
      let change = state.setLimit(limit, of: category)
      let refused = before.subtracting(state.reservations.keys)
      if change.refused.count != refused.count { complain("\(refused) are gone, \(change.refused.count) were refused") }
      refusals += refused.count
      for id in refused { live[id] = nil }
      model.setLimit(limit, of: category, without: refused)
      if model.isDeadlocked { complain("a lower limit lets some wait for ever") }
    }

    private mutating func compare() {
      let mine = state.reservations.filter(\.value.isHeld).keys.sorted()
      let theirs = model.entries.filter(\.isHeld).map(\.id)
      if mine != theirs { complain("held are \(mine), not \(theirs)") }
      if state.reservations.count != model.entries.count {
        complain("\(state.reservations.count) reservations, not \(model.entries.count)")
      }
      for (category, line) in state.lines {
        let count = state.reservations.values.count { $0.isHeld && $0.categories.contains(category) }
        if line.inUse != count { complain("\(category) is held by \(count), not \(line.inUse)") }
        if count == 0, line.waiting.isEmpty { complain("\(category) is not forgotten") }
      }
    }

    /// Ends operations until none is left: each gets its turn.
    mutating func drain() {
      while complaint == nil, !live.isEmpty {
        let blocked = Set(waiting.flatMap { live[$0]! })
        guard let id = held.filter({ !blocked.contains($0) }).randomElement(using: &random) else {
          return complain("\(waiting) wait for ever")
        }
        release(id)
        compare()
      }
      if !state.reservations.isEmpty || !state.lines.isEmpty { complain("something is left") }
    }

    private mutating func complain(_ text: String) {
      if complaint == nil { complaint = "step \(steps): \(text)" }
    }
  }

  @Test("Random requests, releases, withdrawals and limits, nested at will", arguments: 0..<8)
  func histories_areAsInTheModel(batch: Int) {
    var (refusals, waits, overtakings) = (0, 0, 0)
    for number in 0..<Scale.count(400, least: 120) {
      let seed = UInt64(batch * 1_000_000 + number)
      var history = History(seed: seed)
      for _ in 0..<40 where history.complaint == nil { history.step() }
      history.drain()
      #expect(history.complaint == nil, "seed \(seed)")
      if history.complaint != nil { return }
      refusals += history.refusals
      waits += history.waits
      overtakings += history.overtakings
    }
    #expect(refusals > 10 && waits > 100 && overtakings > 0, "\(refusals) refused, \(waits) waited, \(overtakings)")
  }
}
