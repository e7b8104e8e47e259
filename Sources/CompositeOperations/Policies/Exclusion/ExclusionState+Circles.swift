// Which reservations would wait forever, and why.

extension ExclusionState {
  /// The waiting reservations, in their order in line.
  var waiting: [(id: ID, reservation: Reservation)] {
    reservations.filter { !$0.value.isHeld }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether a waiting reservation could be part of a circle. For that, another reservation must
  /// wait for a category that an ancestor of this reservation holds.
  ///
  /// This check is quick, and usually makes the search unnecessary.
  func couldCloseCircle(_ id: ID) -> Bool {
    reservations[id]!.ancestors.contains { ancestor in
      reservations[ancestor]?.categories.contains { lines[$0]?.waiting.isEmpty == false } == true
    }
  }

  /// Whether a nested reservation waits for a category that an ancestor of a waiting reservation
  /// holds, or stands in line with reservations that wait for such a category.
  ///
  /// If not, the holders that nested reservations wait for can all be released. Then the nested
  /// reservations are granted, and after that their ancestors are released. So the waiting
  /// reservations need not be searched.
  var isEntangled: Bool {
    var pending: [ExclusionCategory] = []
    var blocked: Set<ExclusionCategory> = []
    for id in nestedWaiting {
      let reservation = reservations[id]!
      pending += reservation.categories
      for holder in reservation.ancestors { blocked.formUnion(reservations[holder]?.categories ?? []) }
    }
    var seen = Set(pending)
    while let category = pending.popLast() {
      if blocked.contains(category) { return true }
      for id in lines[category]?.waitingForMore ?? [] {
        for other in reservations[id]!.categories where seen.insert(other).inserted { pending.append(other) }
      }
    }
    return false
  }

  /// The reservations and the room that would be left if all holders that are not blocked were
  /// released.
  struct Forecast {
    /// The reservations that would still wait.
    var stuck: [(id: ID, reservation: Reservation)]
    /// How many more reservations could hold each category.
    var room: [ExclusionCategory: Int] = [:]
  }

  /// Returns which reservations would still wait if all holders that are not blocked were released,
  /// and all reservations that could then be granted were granted and released.
  ///
  /// The order of these releases does not matter, since each one only makes room.
  ///
  /// - Parameter inOrder: whether a reservation is granted only if it is first in all of its lines.
  func forecast(inOrder: Bool) -> Forecast {
    var forecast = Forecast(stuck: waiting)
    guard !forecast.stuck.isEmpty else { return forecast }
    for (category, line) in lines { forecast.room[category] = limit(of: category) - line.inUse }
    // How many reservations keep each holder from being released: nested reservations that wait,
    // and reservations that use its categories.
    var keepers: [ID: Int] = [:]
    for (_, reservation) in forecast.stuck {
      for holder in kept(by: reservation) { keepers[holder, default: 0] += 1 }
    }
    for reservation in reservations.values where reservation.isHeld {
      for lender in reservation.lenders { keepers[lender, default: 0] += 1 }
    }
    func letGo(_ holders: [ID]) {
      var pending = holders
      while let holder = pending.popLast() {
        keepers[holder]! -= 1
        if keepers[holder] == 0 { pending += forecast.free(reservations[holder]!) }
      }
    }
    let free = reservations.filter { $0.value.isHeld && keepers[$0.key] == nil }.values
    for reservation in free { letGo(forecast.free(reservation)) }
    var count: Int
    repeat {
      count = forecast.stuck.count
      var awaited: Set<ExclusionCategory> = []
      for (id, reservation) in forecast.take() {
        if reservation.categories.allSatisfy({ forecast.room[$0]! > 0 && !(inOrder && awaited.contains($0)) }) {
          letGo(kept(by: reservation))
        } else {
          if inOrder { awaited.formUnion(reservation.categories) }
          forecast.stuck.append((id, reservation))
        }
      }
    } while forecast.stuck.count < count && !forecast.stuck.isEmpty
    return forecast
  }

  /// The holders that cannot be released while a reservation waits. These are its lenders, and its
  /// ancestors with operations that have not finished.
  private func kept(by waiting: Reservation) -> [ID] {
    waiting.ancestors.filter { reservations[$0]?.isReleased == false } + waiting.lenders
  }

  /// The circle of waiting reservations that a reservation is part of; nil if there is none.
  func circle(closedBy id: ID) -> [Wait]? {
    let forecast = forecast(inOrder: false)
    let goal = Set(reservations[id]!.ancestors)
    // The search goes from each reservation to the holders that it waits for, and from there to the
    // waiting reservations nested in these holders. It ends at a holder that is an ancestor of the
    // first reservation.
    var paths: [(id: ID, waits: [Wait])] = [(id, [])]
    var seen: Set<ID> = [id]
    var next = 0
    while next < paths.count {
      let (current, waits) = paths[next]
      next += 1
      let wanted = Set(reservations[current]!.categories.filter { forecast.room[$0]! <= 0 })
      for (holder, reservation) in reservations.sorted(by: { $0.key < $1.key }) where reservation.isHeld {
        guard let category = reservation.categories.first(where: wanted.contains) else { continue }
        let waits =
          waits + [Wait(waiting: reservations[current]!.owner, category: category, holding: reservation.owner)]
        if goal.contains(holder) { return waits }
        for (nested, reservation) in forecast.stuck
        where reservation.ancestors.contains(holder) && seen.insert(nested).inserted {
          paths.append((nested, waits))
        }
      }
    }
    return nil
  }

  /// The last nested reservation that is part of a circle, and the circle; nil if there is none.
  func lastCircle() -> (ID, [Wait])? {
    for (id, reservation) in forecast(inOrder: false).stuck.reversed() where !reservation.ancestors.isEmpty {
      if let circle = circle(closedBy: id) { return (id, circle) }
    }
    return nil
  }

  /// The stalled reservation that may overtake others; nil if there is none.
  func firstToGoAhead(among stalled: Set<ID>) -> ID? {
    guard !stalled.isEmpty else { return nil }
    var awaited: Set<ExclusionCategory> = []
    for (id, reservation) in waiting {
      if !stalled.contains(id) {
        awaited.formUnion(reservation.categories)
      } else if couldCloseCircle(id),
        reservation.categories.allSatisfy({ lines[$0]!.inUse < limit(of: $0) && !awaited.contains($0) })
      {
        return id
      }
    }
    return nil
  }
}

extension ExclusionState.Forecast {
  /// Adds the room that a reservation held. Returns the lenders of the reservation.
  fileprivate mutating func free(_ reservation: ExclusionState.Reservation) -> [ExclusionState.ID] {
    for category in reservation.categories { room[category, default: 0] += 1 }
    return reservation.lenders
  }

  fileprivate mutating func take() -> [(id: ExclusionState.ID, reservation: ExclusionState.Reservation)] {
    defer { stuck = [] }
    return stuck
  }
}
