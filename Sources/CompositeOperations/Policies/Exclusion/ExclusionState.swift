/// Who holds which categories, and who waits for them, in which order.
///
/// A *claim* is one request for some categories: it waits, is held, and is gone when it was
/// released. Claims made from within holders name them as their *ancestors*. What an ancestor holds
/// is theirs too; they are *nested* in it.
///
/// A claim is granted when each of its categories has room, and it is first in the line of each. So
/// no later one ever overtakes an earlier one that wants one of its categories; with one exception,
/// without which there could be a circle of those who wait for each other for nothing but their
/// places in the lines: see ``grantOutOfTurn()``.
///
/// A holder is *blocked* if a claim nested in it waits, for it cannot be released before that. A
/// request that could never be granted, if all that are not blocked were released and all whose
/// turn can come got theirs, closes a circle of holders; it is refused. Only a nested one can do
/// that, for only nested ones block a holder. So at any time all that wait can be granted in some
/// order.
struct ExclusionState<Owner> {
  typealias ID = Int

  struct Claim {
    let owner: Owner
    /// What it wants beyond what its ancestors hold.
    var categories: [ExclusionCategory]
    /// The ancestors whose categories it uses, which stay held as long as it is.
    var lenders: [ID] = []
    /// The holders that it is nested in.
    let ancestors: [ID]
    var isHeld = false
    /// Whether its operation has finished. It stays held as long as others use its categories.
    var isReleased = false
    /// Itself, and those that use its categories.
    var users = 1
  }

  /// Those who hold a category, and those who wait for it.
  struct Line {
    var inUse = 0
    var waiting = WaitingLine()
    /// Those of them who wait for other categories, too.
    var waitingForMore: Set<ID> = []
  }

  private(set) var claims: [ID: Claim] = [:]
  private(set) var lines: [ExclusionCategory: Line] = [:]
  /// Those who wait inside of holders.
  private(set) var nestedWaiting: Set<ID> = []
  /// How many may hold a category that has no limit of its own.
  private let defaultLimit: Int
  /// The limits that are different.
  private var limits: [ExclusionCategory: Int] = [:]
  private var lastID = 0
  /// Whether there may be claims that only wait because of their places in the lines.
  private var mayStall = false

  init(defaultLimit: Int = 1) {
    self.defaultLimit = defaultLimit
  }

  // MARK: - Limits

  func limit(of category: ExclusionCategory) -> Int {
    limits.isEmpty ? defaultLimit : limits[category] ?? defaultLimit
  }

  /// Changes how many may hold a category. Those that hold it keep it, if there are more.
  mutating func setLimit(_ limit: Int, of category: ExclusionCategory) -> Change {
    guard limit != self.limit(of: category) else { return Change() }
    limits[category] = limit == defaultLimit ? nil : limit
    var change = Change()
    var changed = [category]
    // With less room there may be circles, and places in lines that stall.
    while isEntangled, let (last, circle) = lastCircle() {
      change.refused.append((claims[last]!.owner, circle))
      changed += leaveLines(last)
    }
    mayStall = true
    change.granted = grant(from: changed).granted
    return change
  }

  // MARK: - Requests

  enum Answer {
    case granted
    case waiting
    /// It would wait for ever.
    case refused([Wait])
  }

  /// One step of a circle: a claim waits for a category that another claim holds.
  struct Wait {
    let waiting: Owner
    let category: ExclusionCategory
    let holding: Owner
  }

  /// Those whose turn has come, and those who turned out to wait for ever.
  struct Change {
    var granted: [Owner] = []
    var refused: [(owner: Owner, circle: [Wait])] = []
  }

  /// Asks for categories, all at once.
  ///
  /// - Parameters:
  ///   - number: where the claim stands in line: before those with higher numbers. Given to no
  ///     other; nil for the end.
  ///   - ancestors: what the operations around hold, the innermost first.
  /// - Returns: the claim's number, the answer, and others whose turn has come in consequence.
  mutating func request(
    _ categories: [ExclusionCategory], for owner: Owner, number: ID? = nil, ancestors: [ID] = []
  ) -> (ID, Answer, Change) {
    let id = number ?? lastID + 1
    lastID = max(lastID, id)
    var claim = Claim(owner: owner, categories: categories, ancestors: ancestors)
    if categories.count > 1 { claim.categories = ExclusionState.distinct(categories) }
    if !ancestors.isEmpty { borrow(for: &claim) }
    if takeRoom(for: claim.categories) {
      claim.isHeld = true
      claims[id] = claim
      return (id, .granted, Change())
    }
    claims[id] = claim
    var isLast = true
    for category in claim.categories {
      if !lines[category, default: Line()].waiting.insert(id) { isLast = false }
      if claim.categories.count > 1 { lines[category]!.waitingForMore.insert(id) }
    }
    if !ancestors.isEmpty { nestedWaiting.insert(id) }
    if !isLast {
      // Those who wait here wait for other categories, too, or there is no room.
      if isNext(id) {
        take(id)
        return (id, .granted, Change())
      }
      // Those behind may now be waiting for one that waits for them.
      mayStall = true
    }
    let mayClose = couldCloseCircle(id)
    guard mayClose || mayStall, isEntangled else { return (id, .waiting, Change()) }
    if mayClose, forecast(inOrder: false).stuck.contains(where: { $0.id == id }) {
      return (id, .refused(circle(closedBy: id) ?? []), withdraw(id))
    }
    let granted = grantOutOfTurn()
    let others = granted.filter { $0 != id }.map { claims[$0]!.owner }
    return (id, granted.count > others.count ? .granted : .waiting, Change(granted: others))
  }

  private static func distinct(_ categories: [ExclusionCategory]) -> [ExclusionCategory] {
    var seen: Set<ExclusionCategory> = []
    return categories.filter { seen.insert($0).inserted }
  }

  /// What an ancestor holds need not be waited for, but must not be released before.
  private mutating func borrow(for claim: inout Claim) {
    var own: [ExclusionCategory] = []
    for category in claim.categories {
      let lender = claim.ancestors.first { claims[$0]?.isHeld == true && claims[$0]!.categories.contains(category) }
      if let lender {
        claims[lender]!.users += 1
        claim.lenders.append(lender)
      } else {
        own.append(category)
      }
    }
    claim.categories = own
  }

  /// Takes a place in each category, if no claim waits for any of them and all have room.
  private mutating func takeRoom(for categories: [ExclusionCategory]) -> Bool {
    // The usual case, in one look-up: no claim holds it.
    if categories.count == 1 {
      let limit = limit(of: categories[0])
      return
        ({ (line: inout Line) in
          guard line.inUse < limit, line.waiting.isEmpty else { return false }
          line.inUse += 1
          return true
        })(&lines[categories[0], default: Line()])
    }
    let hasRoom = categories.allSatisfy { category in
      lines[category].map { $0.inUse < limit(of: category) && $0.waiting.isEmpty } ?? true
    }
    if hasRoom { for category in categories { lines[category, default: Line()].inUse += 1 } }
    return hasRoom
  }

  // MARK: - Releases

  /// The operation has finished, or never ran. Does nothing the second time.
  mutating func release(_ id: ID) -> Change {
    guard let claim = claims.removeValue(forKey: id) else { return Change() }
    // The usual case: it used no other claim's categories, and no other claim uses its own.
    if claim.isHeld, claim.users == 1, claim.lenders.isEmpty {
      let freed = leave(claim.categories)
      return freed.isEmpty ? Change() : grant(from: freed)
    }
    claims[id] = claim
    guard !claim.isReleased else { return Change() }
    guard claim.isHeld else { return withdraw(id) }
    claims[id]!.isReleased = true
    return grant(from: dropOne(id))
  }

  /// A claim that waits leaves the lines. Nothing happens to one that does not wait.
  mutating func withdraw(_ id: ID) -> Change {
    grant(from: leaveLines(id))
  }

  /// Returns the categories in which another claim may have its turn in consequence.
  private mutating func leaveLines(_ id: ID) -> [ExclusionCategory] {
    guard let claim = claims[id], !claim.isHeld else { return [] }
    claims[id] = nil
    nestedWaiting.remove(id)
    for category in claim.categories {
      lines[category]!.waiting.remove(id)
      lines[category]!.waitingForMore.remove(id)
    }
    return claim.lenders.reduce(into: claim.categories) { $0 += dropOne($1) }
  }

  /// One user less. Returns the categories in which there is room in consequence.
  private mutating func dropOne(_ id: ID) -> [ExclusionCategory] {
    var freed: [ExclusionCategory] = []
    var pending = [id]
    while let id = pending.popLast() {
      guard var claim = claims.removeValue(forKey: id) else { continue }
      claim.users -= 1
      guard claim.users == 0 else {
        claims[id] = claim
        continue
      }
      freed += leave(claim.categories)
      pending += claim.lenders
    }
    return freed
  }

  /// Gives places back. Returns the categories that a claim waits for; a category that no claim
  /// holds or waits for is forgotten.
  private mutating func leave(_ categories: [ExclusionCategory]) -> [ExclusionCategory] {
    var freed: [ExclusionCategory] = []
    for category in categories {
      guard let index = lines.index(forKey: category) else { continue }
      if lines.values[index].waiting.isEmpty, lines.values[index].inUse == 1 {
        lines.remove(at: index)
      } else {
        lines.values[index].inUse -= 1
        if !lines.values[index].waiting.isEmpty { freed.append(category) }
      }
    }
    return freed
  }

  // MARK: - Turns

  /// Grants those whose turn has come, where something changed in some categories.
  private mutating func grant(from changed: [ExclusionCategory]) -> Change {
    guard !changed.isEmpty || mayStall else { return Change() }
    let granted = grantInTurn(from: changed) + (mayStall ? grantOutOfTurn() : [])
    return granted.isEmpty ? Change() : Change(granted: granted.map { claims[$0]!.owner })
  }

  private mutating func grantInTurn(from changed: [ExclusionCategory]) -> [ID] {
    var granted: [ID] = []
    var pending = changed
    while let category = pending.popLast() {
      while let id = lines[category]?.waiting.first, isNext(id) {
        take(id)
        granted.append(id)
        // There, too, another claim is first now.
        pending += claims[id]!.categories
      }
      if let line = lines[category], line.inUse == 0, line.waiting.isEmpty { lines[category] = nil }
    }
    return granted
  }

  private func isNext(_ id: ID) -> Bool {
    claims[id]!.categories.allSatisfy { lines[$0]!.waiting.first == id && lines[$0]!.inUse < limit(of: $0) }
  }

  private mutating func take(_ id: ID) {
    claims[id]!.isHeld = true
    nestedWaiting.remove(id)
    for category in claims[id]!.categories {
      lines[category]!.waiting.remove(id)
      lines[category]!.waitingForMore.remove(id)
      lines[category]!.inUse += 1
    }
  }

  /// Lets nested claims go ahead of those that only wait for them.
  ///
  /// Say A holds `x`, B waits for `x` and `y`, and then a claim nested in A wants `y`. In line it
  /// would wait for B, which waits for A, which waits for it. Where lines are such a circle, though
  /// there is room, the first nested claim of it for which there is goes ahead; but never of one
  /// whose turn will come.
  private mutating func grantOutOfTurn() -> [ID] {
    var granted: [ID] = []
    while true {
      guard isEntangled else {
        mayStall = false
        return granted
      }
      let stalled = Set(forecast(inOrder: true).stuck.map(\.id))
      mayStall = !stalled.isEmpty
      guard let id = firstToGoAhead(among: stalled) else { return granted }
      take(id)
      granted.append(id)
      granted += grantInTurn(from: claims[id]!.categories)
    }
  }
}
