/// Which reservations hold which categories, and which reservations wait for them, in which order.
///
/// A *reservation* is the request of one operation for some categories. It waits, then it is held,
/// and it is removed when the operation has finished. If operations around that operation hold
/// reservations, the new reservation is *nested* in these. They are its *ancestors*. A reservation
/// does not wait for categories that an ancestor holds.
///
/// A reservation is granted when each of its categories has room, and the reservation is first in
/// the line of each category. So it never overtakes an earlier reservation for the same category.
/// There is one exception, because reservations that wait for each other only by their places in
/// the lines would wait forever: see ``grantOutOfTurn()``.
///
/// A holder is *blocked* while a reservation nested in it waits, because the holder cannot be
/// released before that reservation. A new reservation is refused if it would wait forever. This is
/// so if it would still wait after all holders that are not blocked were released, and all
/// reservations that could then be granted were granted and released. Then holders wait for each
/// other in a circle. Only a nested reservation can close a circle, because only nested
/// reservations block holders. So at any time all waiting reservations can be granted in some
/// order.
struct ExclusionState<Owner> {
  typealias ID = Int

  struct Reservation {
    let owner: Owner
    /// The categories of the reservation that no ancestor holds.
    var categories: [ExclusionCategory]
    /// The ancestors whose categories the reservation uses. They stay held as long as the
    /// reservation is held.
    var lenders: [ID] = []
    /// The holders that the reservation is nested in.
    let ancestors: [ID]
    var isHeld = false
    /// Whether the operation has finished. The reservation stays held as long as nested
    /// reservations use its categories.
    var isReleased = false
    /// How many reservations use the categories: this one, and nested ones.
    var users = 1
  }

  /// The reservations of one category.
  struct Line {
    var inUse = 0
    var waiting = WaitingLine()
    /// The waiting reservations that also wait for other categories.
    var waitingForMore: Set<ID> = []
  }

  private(set) var reservations: [ID: Reservation] = [:]
  private(set) var lines: [ExclusionCategory: Line] = [:]
  /// The waiting reservations that are nested in holders.
  private(set) var nestedWaiting: Set<ID> = []
  /// How many reservations may hold a category that has no limit of its own.
  private let defaultLimit: Int
  /// The limits that differ from the default.
  private var limits: [ExclusionCategory: Int] = [:]
  /// Whether some reservations may wait for each other only because of their places in the lines.
  private var mayStall = false

  init(defaultLimit: Int = 1) {
    self.defaultLimit = defaultLimit
  }

  // MARK: - Limits

  func limit(of category: ExclusionCategory) -> Int {
    limits.isEmpty ? defaultLimit : limits[category] ?? defaultLimit
  }

  /// Changes how many reservations may hold a category. Holders beyond a lower limit keep the
  /// category.
  mutating func setLimit(_ limit: Int, of category: ExclusionCategory) -> Change {
    guard limit != self.limit(of: category) else { return Change() }
    limits[category] = limit == defaultLimit ? nil : limit
    var change = Change()
    var changed = [category]
    // With less room, reservations may wait for each other in a circle, or only because of their
    // places in the lines.
    while isEntangled, let (last, circle) = lastCircle() {
      change.refused.append((reservations[last]!.owner, circle))
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
    /// The reservation would wait forever.
    case refused([Wait])
  }

  /// One step of a circle: a reservation waits for a category that another reservation holds.
  struct Wait {
    let waiting: Owner
    let category: ExclusionCategory
    let holding: Owner
  }

  /// The reservations that were granted, and those that were refused because they would wait
  /// forever.
  struct Change {
    var granted: [Owner] = []
    var refused: [(owner: Owner, circle: [Wait])] = []
  }

  /// Asks for categories, all at once.
  ///
  /// - Parameters:
  ///   - number: the unique number of the reservation. The reservation stands in line before
  ///     reservations with higher numbers.
  ///   - ancestors: the reservations of the operations around, the innermost first.
  /// - Returns: the answer, and other reservations that are granted in consequence.
  mutating func request(
    _ categories: [ExclusionCategory], for owner: Owner, number id: ID, ancestors: [ID]
  ) -> (Answer, Change) {
    var reservation = Reservation(owner: owner, categories: categories, ancestors: ancestors)
    if categories.count > 1 { reservation.categories = ExclusionState.distinct(categories) }
    if !ancestors.isEmpty { borrow(for: &reservation) }
    if takeRoom(for: reservation.categories) {
      reservation.isHeld = true
      reservations[id] = reservation
      return (.granted, Change())
    }
    reservations[id] = reservation
    var isLast = true
    for category in reservation.categories {
      if !lines[category, default: Line()].waiting.insert(id) { isLast = false }
      if reservation.categories.count > 1 { lines[category]!.waitingForMore.insert(id) }
    }
    if !ancestors.isEmpty { nestedWaiting.insert(id) }
    if !isLast {
      // If there is room, the reservations behind this one wait for other categories, too.
      if isNext(id) {
        take(id)
        return (.granted, Change())
      }
      // The reservations behind this one may now wait for it while it waits for them.
      mayStall = true
    }
    let mayClose = couldCloseCircle(id)
    guard mayClose || mayStall, isEntangled else { return (.waiting, Change()) }
    if mayClose, forecast(inOrder: false).stuck.contains(where: { $0.id == id }) {
      return (.refused(circle(closedBy: id) ?? []), withdraw(id))
    }
    let granted = grantOutOfTurn()
    let others = granted.filter { $0 != id }.map { reservations[$0]!.owner }
    return (granted.count > others.count ? .granted : .waiting, Change(granted: others))
  }

  private static func distinct(_ categories: [ExclusionCategory]) -> [ExclusionCategory] {
    var seen: Set<ExclusionCategory> = []
    return categories.filter { seen.insert($0).inserted }
  }

  /// Lets the reservation use the categories that its ancestors hold. The reservation does not wait
  /// for these categories, and the ancestors keep them until the reservation is released.
  private mutating func borrow(for reservation: inout Reservation) {
    var own: [ExclusionCategory] = []
    for category in reservation.categories {
      let lender = reservation.ancestors.first {
        reservations[$0]?.isHeld == true && reservations[$0]!.categories.contains(category)
      }
      if let lender {
        reservations[lender]!.users += 1
        reservation.lenders.append(lender)
      } else {
        own.append(category)
      }
    }
    reservation.categories = own
  }

  /// Takes room in each category, if all categories have room and no reservation waits for one of
  /// them. Returns whether it did.
  private mutating func takeRoom(for categories: [ExclusionCategory]) -> Bool {
    // The usual case, in one look-up: no reservation holds the category.
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

  /// Releases the reservation of an operation that has finished or will not run. Does nothing the
  /// second time.
  mutating func release(_ id: ID) -> Change {
    guard let reservation = reservations.removeValue(forKey: id) else { return Change() }
    // The usual case: the reservation used no categories of other reservations, and no other
    // reservation uses its categories.
    if reservation.isHeld, reservation.users == 1, reservation.lenders.isEmpty {
      let freed = leave(reservation.categories)
      return freed.isEmpty ? Change() : grant(from: freed)
    }
    reservations[id] = reservation
    guard !reservation.isReleased else { return Change() }
    guard reservation.isHeld else { return withdraw(id) }
    reservations[id]!.isReleased = true
    return grant(from: dropOne(id))
  }

  /// Removes a reservation from the lines if it waits.
  mutating func withdraw(_ id: ID) -> Change {
    grant(from: leaveLines(id))
  }

  /// Removes a waiting reservation. Returns the categories in which other reservations may be
  /// granted in consequence.
  private mutating func leaveLines(_ id: ID) -> [ExclusionCategory] {
    guard let reservation = reservations[id], !reservation.isHeld else { return [] }
    reservations[id] = nil
    nestedWaiting.remove(id)
    for category in reservation.categories {
      lines[category]!.waiting.remove(id)
      lines[category]!.waitingForMore.remove(id)
    }
    return reservation.lenders.reduce(into: reservation.categories) { $0 += dropOne($1) }
  }

  /// Removes one user of a reservation. Returns the categories that have room in consequence.
  private mutating func dropOne(_ id: ID) -> [ExclusionCategory] {
    var freed: [ExclusionCategory] = []
    var pending = [id]
    while let id = pending.popLast() {
      guard var reservation = reservations.removeValue(forKey: id) else { continue }
      reservation.users -= 1
      guard reservation.users == 0 else {
        reservations[id] = reservation
        continue
      }
      freed += leave(reservation.categories)
      pending += reservation.lenders
    }
    return freed
  }

  /// Makes room in categories, and forgets the categories that no reservation holds or waits for.
  /// Returns the categories that a reservation waits for.
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

  /// Grants the reservations that can be granted after some categories have changed.
  private mutating func grant(from changed: [ExclusionCategory]) -> Change {
    guard !changed.isEmpty || mayStall else { return Change() }
    let granted = grantInTurn(from: changed) + (mayStall ? grantOutOfTurn() : [])
    return granted.isEmpty ? Change() : Change(granted: granted.map { reservations[$0]!.owner })
  }

  private mutating func grantInTurn(from changed: [ExclusionCategory]) -> [ID] {
    var granted: [ID] = []
    var pending = changed
    while let category = pending.popLast() {
      while let id = lines[category]?.waiting.first, isNext(id) {
        take(id)
        granted.append(id)
        // In these categories, too, another reservation is first now.
        pending += reservations[id]!.categories
      }
      if let line = lines[category], line.inUse == 0, line.waiting.isEmpty { lines[category] = nil }
    }
    return granted
  }

  private func isNext(_ id: ID) -> Bool {
    reservations[id]!.categories.allSatisfy { lines[$0]!.waiting.first == id && lines[$0]!.inUse < limit(of: $0) }
  }

  private mutating func take(_ id: ID) {
    reservations[id]!.isHeld = true
    nestedWaiting.remove(id)
    for category in reservations[id]!.categories {
      lines[category]!.waiting.remove(id)
      lines[category]!.waitingForMore.remove(id)
      lines[category]!.inUse += 1
    }
  }

  /// Lets nested reservations overtake reservations that wait for them.
  ///
  /// For example, A holds `x`, B waits for `x` and `y`, and then a reservation nested in A requests
  /// `y`. In line, the nested reservation would wait for B. B waits for A, and A waits for the
  /// nested reservation. If reservations wait in such a circle, the first nested reservation of the
  /// circle that has room overtakes the others. It never overtakes a reservation that will be
  /// granted in its turn.
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
      granted += grantInTurn(from: reservations[id]!.categories)
    }
  }
}
