import Foundation

/// The trees that offer a slot of one queue, and those that want one.
///
/// A root that was added to a queue keeps its slot while it executes, also while it waits, say for
/// a category of `exclusive`, and runs nothing in the slot. The tree that holds the category may
/// need a slot of the same queue to continue: a deadlock. Therefore the waiting tree lends its
/// slot, to one tree after the other whose work holds something, as long as the queue has no free
/// slot for these.
///
/// First come, first served on both sides. Generic, so that tests need not run anything.
struct SlotLoans<Tree: AnyObject> {
  private var lenders = Line()
  private var borrowers = Line()
  /// The number of slots that are lent.
  private(set) var count = 0

  /// Records whether a tree offers its slot, and whether it wants one. Returns whether there is a
  /// match.
  mutating func update(_ tree: Tree, offers: Bool, wants: Bool) -> Bool {
    lenders.set(tree, isIn: offers)
    borrowers.set(tree, isIn: wants)
    return !lenders.isEmpty && !borrowers.isEmpty
  }

  /// Matches lenders with borrowers, and removes both from their lists. At a time, no more slots
  /// are lent than the queue's limit allows, but always one; none if the queue has no limit.
  mutating func match(limit: Int) -> [(lender: Tree, borrower: Tree)] {
    var matches: [(lender: Tree, borrower: Tree)] = []
    while limit >= 0, count < max(limit, 1), !lenders.isEmpty, !borrowers.isEmpty {
      matches.append((lenders.popFirst(), borrowers.popFirst()))
      count += 1
    }
    return matches
  }

  /// Ends a loan, or one that did not come about. The trees call `update` if they want another
  /// match.
  mutating func ended() {
    precondition(count > 0, "A loan ended that had not begun")
    count -= 1
  }

  /// Trees in order of arrival, each once.
  private struct Line {
    private var trees: [Int: Tree] = [:]
    private var numbers: [ObjectIdentifier: Int] = [:]
    private var order = WaitingLine()
    private var lastNumber = 0

    var isEmpty: Bool { order.isEmpty }

    mutating func set(_ tree: Tree, isIn: Bool) {
      if isIn {
        guard numbers[ObjectIdentifier(tree)] == nil else { return }
        lastNumber += 1
        numbers[ObjectIdentifier(tree)] = lastNumber
        trees[lastNumber] = tree
        _ = order.insert(lastNumber)
      } else if let number = numbers.removeValue(forKey: ObjectIdentifier(tree)) {
        trees[number] = nil
        order.remove(number)
      }
    }

    mutating func popFirst() -> Tree {
      let tree = trees[order.first!]!
      set(tree, isIn: false)
      return tree
    }
  }
}

/// The loans of one queue, which live as long as pools use it.
final class SlotExchange: Sendable {
  private static let exchanges = LockBox<[ObjectIdentifier: (exchange: SlotExchange, users: Int)]>([:])

  private let loans = LockBox(SlotLoans<QueuePool>())

  /// Returns the exchange of a queue for one more user, which must retain the queue.
  static func enter(_ queue: OperationQueue) -> SlotExchange {
    exchanges.withLock { exchanges in
      exchanges[ObjectIdentifier(queue), default: (SlotExchange(), 0)].users += 1
      return exchanges[ObjectIdentifier(queue)]!.exchange
    }
  }

  /// Removes a user of a queue's exchange.
  static func leave(_ queue: OperationQueue) {
    exchanges.withLock { exchanges in
      exchanges[ObjectIdentifier(queue)]!.users -= 1
      if exchanges[ObjectIdentifier(queue)]!.users == 0 { exchanges[ObjectIdentifier(queue)] = nil }
    }
  }

  func update(_ pool: QueuePool, offers: Bool, wants: Bool) -> Bool {
    loans.withLock { $0.update(pool, offers: offers, wants: wants) }
  }

  func match(limit: Int) -> [(lender: QueuePool, borrower: QueuePool)] {
    loans.withLock { $0.match(limit: limit) }
  }

  func ended() {
    loans.withLock { $0.ended() }
  }
}
