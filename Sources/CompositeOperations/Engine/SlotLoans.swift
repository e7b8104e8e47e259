import Foundation

/// Which slots of one queue may be lent, and who wants one.
///
/// A root that was added to a queue has its slot as long as it executes, also while it waits for something, say a category
/// of `exclusive`, and nothing runs in the slot. The tree that holds that may need a slot of the same queue to go on, so each
/// would wait for the other for ever. Therefore the waiting tree lends its slot, to one tree after the other whose work holds
/// something, as long as the queue has no free one for these.
///
/// First come, first served on both sides. Generic, so that it can be tested without running anything.
struct SlotLoans<Tree: AnyObject> {
  private var lenders = Line()
  private var borrowers = Line()
  /// The slots that are lent.
  private(set) var count = 0

  /// Whether a tree offers its slot, and whether it wants one. Returns whether there are such that can be matched.
  mutating func update(_ tree: Tree, offers: Bool, wants: Bool) -> Bool {
    lenders.set(tree, isIn: offers)
    borrowers.set(tree, isIn: wants)
    return !lenders.isEmpty && !borrowers.isEmpty
  }

  /// Lends as many slots as there are trees that want one; no more at a time than the queue's limit, should it have been
  /// lowered, but one always; none where there is no limit. The trees are not on these lists after that.
  mutating func match(limit: Int) -> [(lender: Tree, borrower: Tree)] {
    var matches: [(lender: Tree, borrower: Tree)] = []
    while limit >= 0, count < max(limit, 1), !lenders.isEmpty, !borrowers.isEmpty {
      matches.append((lenders.popFirst(), borrowers.popFirst()))
      count += 1
    }
    return matches
  }

  /// A slot is no longer lent, or was not in the end. Whether the two want to be matched again they say themselves.
  mutating func ended() {
    precondition(count > 0, "A loan ended that had not begun")
    count -= 1
  }

  /// Trees in the order in which they came; each once.
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

/// The loans of one queue, as long as pools are for it.
final class SlotExchange: Sendable {
  private static let exchanges = LockBox<[ObjectIdentifier: (exchange: SlotExchange, users: Int)]>([:])

  private let loans = LockBox(SlotLoans<QueuePool>())

  /// That of a queue, for one more user, who keeps the queue.
  static func enter(_ queue: OperationQueue) -> SlotExchange {
    exchanges.withLock { exchanges in
      exchanges[ObjectIdentifier(queue), default: (SlotExchange(), 0)].users += 1
      return exchanges[ObjectIdentifier(queue)]!.exchange
    }
  }

  /// A user of a queue's exchange is gone.
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
