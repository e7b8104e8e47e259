/// Which claims hold which categories, and which claims wait for them, in which order.
///
/// A *claim* is the request of one operation for some categories. It waits, then it is held, and it
/// is removed when the operation has finished. A claim that an operation makes while operations
/// around it hold claims is *nested* in these; they are its *ancestors*. The categories that an
/// ancestor holds need not be waited for.
///
/// A claim is granted when each of its categories has room, and the claim is first in the line of
/// each. So a claim never overtakes an earlier claim for the same category. There is one exception:
/// claims that wait for each other only because of their places in the lines would wait for ever.
/// See ``grantOutOfTurn()``.
///
/// A holder is *blocked* while a claim nested in it waits, because it cannot be released before
/// that claim. A new claim is refused if it would wait for ever: that is, if it still waits after
/// all holders that are not blocked were released, and all claims that could then be granted were
/// granted and released. Holders wait for each other in a circle then. Only a nested claim can
/// close a circle, because only nested claims block holders. So at any time all waiting claims can
/// be granted in some order.
struct ExclusionState<Owner> {
  typealias ID = Int

  struct Claim {
    let owner: Owner
    /// The categories of the claim that no ancestor holds.
    var categories: [ExclusionCategory]
    /// The ancestors whose categories the claim uses. They stay held as long as the claim is held.
    var lenders: [ID] = []
    /// The holders that the claim is nested in.
    let ancestors: [ID]
    var isHeld = false
    /// Whether the operation has finished. The claim stays held as long as others use its
    /// categories.
    var isReleased = false
    /// How many claims use the categories: this one, and nested ones.
    var users = 1
  }

  /// The claims to one category.
  struct Line {
    var inUse = 0
    var waiting = WaitingLine()
    /// The waiting claims that wait for other categories, too.
    var waitingForMore: Set<ID> = []
  }

  private(set) var claims: [ID: Claim] = [:]
  private(set) var lines: [ExclusionCategory: Line] = [:]
  /// The waiting claims that are nested in holders.
  private(set) var nestedWaiting: Set<ID> = []
  /// How many claims may hold a category that has no limit of its own.
  private let defaultLimit: Int
  /// The limits that are different.
  private var limits: [ExclusionCategory: Int] = [:]
  private var lastID = 0
  /// Whether some claims may wait only because of their places in the lines.
  private var mayStall = false

  init(defaultLimit: Int = 1) {
    self.defaultLimit = defaultLimit
  }

  // MARK: - Limits

  func limit(of category: ExclusionCategory) -> Int {
    limits.isEmpty ? defaultLimit : limits[category] ?? defaultLimit
  }

  /// Changes how many claims may hold a category. Holders beyond a lower limit keep it.
  mutating func setLimit(_ limit: Int, of category: ExclusionCategory) -> Change {
    guard limit != self.limit(of: category) else { return Change() }
    limits[category] = limit == defaultLimit ? nil : limit
    var change = Change()
    var changed = [category]
    // With less room claims may wait in a circle, or stall because of their places in the lines.
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
    /// The claim would wait for ever.
    case refused([Wait])
  }

  /// One step of a circle: a claim waits for a category that another claim holds.
  struct Wait {
    let waiting: Owner
    let category: ExclusionCategory
    let holding: Owner
  }

  /// The claims that were granted, and those that were refused because they would wait for ever.
  struct Change {
    var granted: [Owner] = []
    var refused: [(owner: Owner, circle: [Wait])] = []
  }

  /// Asks for categories, all at once.
  ///
  /// - Parameters:
  ///   - number: the number of the claim, which no other claim has. The claim stands in line before
  ///     claims with higher numbers. Nil for the end of the line.
  ///   - ancestors: the claims that the operations around hold, the innermost first.
  /// - Returns: the claim's number, the answer, and other claims that are granted in consequence.
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
      // The claims behind this one wait for other categories, too, or there is no room.
      if isNext(id) {
        take(id)
        return (id, .granted, Change())
      }
      // The claims behind this one may now wait for it while it waits for them.
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

  /// Uses what ancestors hold: the claim does not wait for it, and the ancestors keep it until the
  /// claim is released.
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

  /// Takes room in each category, if no claim waits for any of them and all have room.
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

  /// Releases the claim of an operation that has finished or will not run. Does nothing the second
  /// time.
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

  /// Removes a claim from the lines if it waits.
  mutating func withdraw(_ id: ID) -> Change {
    grant(from: leaveLines(id))
  }

  /// Returns the categories in which other claims may be granted in consequence.
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

  /// Removes one user of a claim. Returns the categories in which there is room in consequence.
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

  /// Makes room in categories. Returns those that a claim waits for. Forgets those that no claim
  /// holds or waits for.
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

  /// Grants the claims that can be granted after some categories have changed.
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
        // In these, too, another claim is first now.
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

  /// Lets nested claims overtake claims that wait for them.
  ///
  /// Say A holds `x`, B waits for `x` and `y`, and then a claim nested in A wants `y`. In line it
  /// would wait for B, which waits for A, which waits for the nested claim. If claims wait in such
  /// a circle, the first nested claim of the circle that has room overtakes the others. It never
  /// overtakes a claim that will be granted in its turn.
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
