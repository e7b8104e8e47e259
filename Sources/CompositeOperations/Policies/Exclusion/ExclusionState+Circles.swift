// Which claims would wait for ever, and why.

extension ExclusionState {
  /// The waiting claims, in their order in line.
  var waiting: [(id: ID, claim: Claim)] {
    claims.filter { !$0.value.isHeld }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether a waiting claim could be part of a circle: another claim waits for a category that one
  /// of its ancestors holds.
  ///
  /// This is quick to find out, and in the usual case saves the search.
  func couldCloseCircle(_ id: ID) -> Bool {
    claims[id]!.ancestors.contains { ancestor in
      claims[ancestor]?.categories.contains { lines[$0]?.waiting.isEmpty == false } == true
    }
  }

  /// Whether a nested claim waits for a category that the ancestor of a waiting claim holds, or
  /// stands in line with claims that do.
  ///
  /// If not, nothing keeps the holders of the categories that nested claims wait for from being
  /// released. Then the nested claims are granted, and after them their ancestors are released. So
  /// the waiting claims need not be searched.
  var isEntangled: Bool {
    var pending: [ExclusionCategory] = []
    var blocked: Set<ExclusionCategory> = []
    for id in nestedWaiting {
      let claim = claims[id]!
      pending += claim.categories
      for holder in claim.ancestors { blocked.formUnion(claims[holder]?.categories ?? []) }
    }
    var seen = Set(pending)
    while let category = pending.popLast() {
      if blocked.contains(category) { return true }
      for id in lines[category]?.waitingForMore ?? [] {
        for other in claims[id]!.categories where seen.insert(other).inserted { pending.append(other) }
      }
    }
    return false
  }

  /// The claims and the room that would be left if all holders that are not blocked were released.
  struct Forecast {
    /// The claims that would still wait.
    var stuck: [(id: ID, claim: Claim)]
    /// How many more claims could hold each category.
    var room: [ExclusionCategory: Int] = [:]
  }

  /// Returns which claims would still wait if all holders that are not blocked were released, and
  /// all claims that could then be granted were granted and released.
  ///
  /// The order of these releases does not matter, since each one only makes room.
  ///
  /// - Parameter inOrder: whether a claim is granted only if it is first in all of its lines.
  func forecast(inOrder: Bool) -> Forecast {
    var forecast = Forecast(stuck: waiting)
    guard !forecast.stuck.isEmpty else { return forecast }
    for (category, line) in lines { forecast.room[category] = limit(of: category) - line.inUse }
    // How many claims keep each holder from being released: nested claims that wait, and claims
    // that use its categories.
    var keepers: [ID: Int] = [:]
    for (_, claim) in forecast.stuck {
      for holder in kept(by: claim) { keepers[holder, default: 0] += 1 }
    }
    for claim in claims.values where claim.isHeld {
      for lender in claim.lenders { keepers[lender, default: 0] += 1 }
    }
    func letGo(_ holders: [ID]) {
      var pending = holders
      while let holder = pending.popLast() {
        keepers[holder]! -= 1
        if keepers[holder] == 0 { pending += forecast.free(claims[holder]!) }
      }
    }
    let free = claims.filter { $0.value.isHeld && keepers[$0.key] == nil }.values
    for claim in free { letGo(forecast.free(claim)) }
    var count: Int
    repeat {
      count = forecast.stuck.count
      var awaited: Set<ExclusionCategory> = []
      for (id, claim) in forecast.take() {
        if claim.categories.allSatisfy({ forecast.room[$0]! > 0 && !(inOrder && awaited.contains($0)) }) {
          letGo(kept(by: claim))
        } else {
          if inOrder { awaited.formUnion(claim.categories) }
          forecast.stuck.append((id, claim))
        }
      }
    } while forecast.stuck.count < count && !forecast.stuck.isEmpty
    return forecast
  }

  /// The holders that cannot be released while a claim waits: its ancestors whose operations have
  /// not finished, and its lenders.
  private func kept(by waiting: Claim) -> [ID] {
    waiting.ancestors.filter { claims[$0]?.isReleased == false } + waiting.lenders
  }

  /// The circle of waiting claims that a claim is part of; nil if there is none.
  func circle(closedBy id: ID) -> [Wait]? {
    let forecast = forecast(inOrder: false)
    let goal = Set(claims[id]!.ancestors)
    // Goes from each claim to the claims nested in the holders that it waits for, until one of
    // these holders is an ancestor of the first claim.
    var paths: [(id: ID, waits: [Wait])] = [(id, [])]
    var seen: Set<ID> = [id]
    var next = 0
    while next < paths.count {
      let (current, waits) = paths[next]
      next += 1
      let wanted = Set(claims[current]!.categories.filter { forecast.room[$0]! <= 0 })
      for (holder, claim) in claims.sorted(by: { $0.key < $1.key }) where claim.isHeld {
        guard let category = claim.categories.first(where: wanted.contains) else { continue }
        let waits = waits + [Wait(waiting: claims[current]!.owner, category: category, holding: claim.owner)]
        if goal.contains(holder) { return waits }
        for (nested, claim) in forecast.stuck where claim.ancestors.contains(holder) && seen.insert(nested).inserted {
          paths.append((nested, waits))
        }
      }
    }
    return nil
  }

  /// The last nested claim that is part of a circle.
  func lastCircle() -> (ID, [Wait])? {
    for (id, claim) in forecast(inOrder: false).stuck.reversed() where !claim.ancestors.isEmpty {
      if let circle = circle(closedBy: id) { return (id, circle) }
    }
    return nil
  }

  /// The stalled claim that may overtake others; nil if there is none.
  func firstToGoAhead(among stalled: Set<ID>) -> ID? {
    guard !stalled.isEmpty else { return nil }
    var awaited: Set<ExclusionCategory> = []
    for (id, claim) in waiting {
      if !stalled.contains(id) {
        awaited.formUnion(claim.categories)
      } else if couldCloseCircle(id),
        claim.categories.allSatisfy({ lines[$0]!.inUse < limit(of: $0) && !awaited.contains($0) })
      {
        return id
      }
    }
    return nil
  }
}

extension ExclusionState.Forecast {
  /// Makes room for what a claim held. Returns its lenders.
  fileprivate mutating func free(_ claim: ExclusionState.Claim) -> [ExclusionState.ID] {
    for category in claim.categories { room[category, default: 0] += 1 }
    return claim.lenders
  }

  fileprivate mutating func take() -> [(id: ExclusionState.ID, claim: ExclusionState.Claim)] {
    defer { stuck = [] }
    return stuck
  }
}
