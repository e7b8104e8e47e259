@testable import CompositeOperations

/// The rules of exclusion in the simplest form: everything is re-evaluated after each event.
struct ExclusionModel {
  struct Entry: Equatable {
    let id: Int
    let ancestors: [Int]
    /// The categories that it must get itself, and the operation whose categories it uses.
    let wants: Set<ExclusionCategory>
    let lenders: Set<Int>
    var isHeld = false
    var isReleased = false
  }

  /// In the order of the requests.
  private(set) var entries: [Entry] = []
  var limits: [ExclusionCategory: Int] = [:]

  subscript(id: Int) -> Entry? { entries.first { $0.id == id } }

  private func room(_ category: ExclusionCategory) -> Int {
    (limits[category] ?? 1) - entries.count { $0.isHeld && $0.wants.contains(category) }
  }

  private func hasRoom(_ entry: Entry) -> Bool {
    entry.wants.allSatisfy { room($0) > 0 }
  }

  private mutating func hold(_ id: Int) {
    entries[entries.firstIndex { $0.id == id }!].isHeld = true
  }

  /// Removes the released entries whose categories no other uses.
  private mutating func tidy() {
    while let index = entries.firstIndex(where: { entry in
      entry.isReleased && !entries.contains { $0.lenders.contains(entry.id) }
    }) {
      entries.remove(at: index)
    }
  }

  /// Grants the entries that are first in all of their lines.
  private mutating func grantInOrder() {
    while let next = entries.indices.first(where: { index in
      let entry = entries[index]
      return !entry.isHeld && hasRoom(entry)
        && !entries[..<index].contains { !$0.isHeld && !$0.wants.isDisjoint(with: entry.wants) }
    }) {
      entries[next].isHeld = true
    }
  }

  /// Whether another entry waits for the categories held around this one.
  private func isAwaited(around entry: Entry) -> Bool {
    let held = entry.ancestors.compactMap { self[$0] }.reduce(into: Set()) { $0.formUnion($1.wants) }
    return entries.contains { !$0.isHeld && !$0.wants.isDisjoint(with: held) }
  }

  /// Ends all operations that can end: those without a waiting one inside.
  private mutating func endAllThatCan() {
    let blocked = Set(entries.filter { !$0.isHeld }.flatMap(\.ancestors))
    for index in entries.indices where entries[index].isHeld && !blocked.contains(entries[index].id) {
      entries[index].isReleased = true
    }
    tidy()
  }

  /// The entries that still wait after all possible ends and grants.
  private func stuck(inOrder: Bool) -> [Entry] {
    var future = self
    while true {
      let before = future.entries
      future.endAllThatCan()
      if inOrder {
        future.grantInOrder()
      } else if let next = future.entries.first(where: { !$0.isHeld && future.hasRoom($0) }) {
        future.hold(next.id)
      }
      if future.entries == before { return future.entries.filter { !$0.isHeld } }
    }
  }

  /// Grants all entries whose turn it is.
  private mutating func update() {
    while true {
      grantInOrder()
      let stalled = Set(stuck(inOrder: true).map(\.id))
      let next = entries.indices.first { index in
        let entry = entries[index]
        return stalled.contains(entry.id) && isAwaited(around: entry) && hasRoom(entry)
          && !entries[..<index].contains {
            !$0.isHeld && !stalled.contains($0.id) && !$0.wants.isDisjoint(with: entry.wants)
          }
      }
      guard let next else { return }
      entries[next].isHeld = true
    }
  }

  // MARK: - What happens

  /// Returns false if it would wait forever.
  mutating func request(_ id: Int, _ categories: [ExclusionCategory], ancestors: [Int]) -> Bool {
    var lenders: Set<Int> = []
    var wants: Set<ExclusionCategory> = []
    for category in categories {
      let lender = ancestors.first { id in self[id].map { $0.isHeld && $0.wants.contains(category) } == true }
      if let lender { lenders.insert(lender) } else { wants.insert(category) }
    }
    entries.append(Entry(id: id, ancestors: ancestors, wants: wants, lenders: lenders))
    if stuck(inOrder: false).contains(where: { $0.id == id }) {
      entries.removeLast()
      return false
    }
    update()
    return true
  }

  mutating func release(_ id: Int) {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
    if entries[index].isHeld { entries[index].isReleased = true } else { entries.remove(at: index) }
    tidy()
    update()
  }

  mutating func setLimit(_ limit: Int, of category: ExclusionCategory, without refused: Set<Int> = []) {
    limits[category] = limit
    entries.removeAll { refused.contains($0.id) }
    update()
  }

  /// Whether an entry waits forever.
  var isDeadlocked: Bool { !stuck(inOrder: false).isEmpty }
}
