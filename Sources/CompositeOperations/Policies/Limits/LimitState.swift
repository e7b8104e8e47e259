/// The claims that hold room of a limit, and those that wait, in order.
///
/// A *claim* is the request of one operation: it waits, is held, and is removed when it is
/// released. A claim made inside a holder uses the room of that holder, its *lender*, and waits
/// only for the rate. The lender's room is held as long as a claim uses it.
///
/// Claims are granted in the order of the line, and only the first is considered. So none overtakes
/// another, and a heavy claim at the head gets its turn when enough room was released. Claims
/// inside holders have a line of their own, which goes first: the others may wait for these
/// holders.
///
/// Times are durations since a common origin.
struct LimitState<Owner> {
  typealias ID = Int

  struct Claim {
    let owner: Owner
    let weight: Int
    /// The holder whose room the claim uses.
    let lender: ID?
    var isHeld = false
    /// The claim itself, until it is released, and the claims that use its room.
    var users = 1
  }

  private(set) var claims: [ID: Claim] = [:]
  /// The claims that wait for room and then for the rate.
  private(set) var line = WaitingLine()
  /// The claims inside holders, which wait only for the rate.
  private var inside = WaitingLine()
  /// The total weight of the held claims.
  private(set) var inUse = 0
  private(set) var maxConcurrent: Int
  private var bucket: TokenBucket?
  private var lastID = 0
  private var alarm: Duration?
  private var alarmNumber = 0

  init(maxConcurrent: Int, rate: SharedLimit.Rate? = nil) {
    self.maxConcurrent = maxConcurrent
    bucket = rate.map { TokenBucket($0) }
  }

  var rate: SharedLimit.Rate? { bucket?.rate }

  /// The greatest weight of a claim; inside a holder, whose room it uses, only the rate limits it.
  func greatestWeight(inside lender: ID?) -> Int {
    let count = bucket?.rate.count ?? .max
    return lender == nil ? min(maxConcurrent, count) : count
  }

  // MARK: - Consequences

  /// What to do about the alarm for the time at which the rate admits the next claim.
  enum Alarm: Equatable {
    /// Nothing: the alarm is set, or not needed.
    case keep
    /// Call ``LimitState/wake(_:at:)`` with this number at this time, instead of an earlier alarm.
    case set(Duration, number: Int)
    /// No claim waits for the rate: cancel the alarm.
    case forget
  }

  /// The claims that were granted or refused, and the alarm.
  struct Change {
    var granted: [Owner] = []
    var refused: [Refusal] = []
    var alarm = Alarm.keep
  }

  /// A claim that is too heavy.
  struct Refusal {
    let owner: Owner
    /// The greatest weight allowed.
    let greatestWeight: Int
  }

  enum Answer: Equatable {
    case granted, waiting
    /// The claim is too heavy.
    case refused(greatestWeight: Int)
  }

  // MARK: - Inputs

  /// Asks for room.
  ///
  /// - Parameters:
  ///   - number: the unique place of the claim in line, before those with higher numbers; nil for
  ///     the end.
  ///   - holder: the innermost claim held around it.
  mutating func request(
    _ weight: Int, for owner: Owner, number: ID? = nil, inside holder: ID? = nil, at now: Duration
  ) -> (ID, Answer, Change) {
    let id = number ?? lastID + 1
    lastID = max(lastID, id)
    let lender = holder.flatMap { claims[$0]?.isHeld == true ? claims[$0]!.lender ?? $0 : nil }
    let greatestWeight = greatestWeight(inside: lender)
    guard weight <= greatestWeight else { return (id, .refused(greatestWeight: greatestWeight), Change()) }
    claims[id] = Claim(owner: owner, weight: weight, lender: lender)
    if let lender {
      claims[lender]!.users += 1
      _ = inside.insert(id)
    } else {
      _ = line.insert(id)
    }
    let change = advance(at: now, except: id)
    return (id, claims[id]!.isHeld ? .granted : .waiting, change)
  }

  /// Removes a waiting claim from the line. Does nothing if it does not wait.
  mutating func withdraw(_ id: ID, at now: Duration) -> Change {
    guard let claim = claims[id], !claim.isHeld else { return Change() }
    leave(id)
    return advance(at: now)
  }

  /// Releases the claim of an operation that has finished or never ran. Called once for each claim
  /// that was not refused.
  mutating func release(_ id: ID, at now: Duration) -> Change {
    guard let claim = claims[id] else { return Change() }
    guard claim.isHeld else { return withdraw(id, at: now) }
    if let lender = claim.lender {
      claims[id] = nil
      dropUser(of: lender)
    } else {
      dropUser(of: id)
    }
    return advance(at: now)
  }

  /// Changes how much may be held. Held claims keep their room.
  mutating func setMaxConcurrent(_ maxConcurrent: Int, at now: Duration) -> Change {
    self.maxConcurrent = maxConcurrent
    return refuseHeavy(at: now)
  }

  /// Changes the rate. The bucket stays as full as it was, proportionally.
  mutating func setRate(_ rate: SharedLimit.Rate?, at now: Duration) -> Change {
    bucket = rate.map { rate in bucket?.changed(to: rate, at: now) ?? TokenBucket(rate) }
    return refuseHeavy(at: now)
  }

  /// Handles an alarm.
  mutating func wake(_ number: Int, at now: Duration) -> Change {
    guard isCurrent(alarm: number) else { return Change() }
    alarm = nil
    return advance(at: now)
  }

  /// Whether the alarm of this number is the current one.
  func isCurrent(alarm number: Int) -> Bool { number == alarmNumber && alarm != nil }

  // MARK: - Parts

  private mutating func leave(_ id: ID) {
    let claim = claims.removeValue(forKey: id)!
    if let lender = claim.lender {
      inside.remove(id)
      dropUser(of: lender)
    } else {
      line.remove(id)
    }
  }

  private mutating func dropUser(of id: ID) {
    claims[id]!.users -= 1
    guard claims[id]!.users == 0 else { return }
    inUse -= claims.removeValue(forKey: id)!.weight
  }

  private mutating func refuseHeavy(at now: Duration) -> Change {
    let heavy = claims.filter { _, claim in
      !claim.isHeld && claim.weight > greatestWeight(inside: claim.lender)
    }
    // The last first, so that none has to be moved for another.
    for id in heavy.keys.sorted(by: >) { leave(id) }
    var change = advance(at: now)
    change.refused = heavy.sorted { $0.key < $1.key }.map { _, claim in
      Refusal(owner: claim.owner, greatestWeight: greatestWeight(inside: claim.lender))
    }
    return change
  }

  /// Grants the claims that can be granted.
  ///
  /// - Parameter own: the claim whose owner gets the answer directly.
  private mutating func advance(at now: Duration, except own: ID? = nil) -> Change {
    var change = Change()
    var due: Duration?
    while let id = inside.first ?? line.first {
      let claim = claims[id]!
      if claim.lender == nil, claim.weight > maxConcurrent - inUse { break }
      if let next = bucket?.due(claim.weight), next > now {
        due = next
        break
      }
      bucket?.take(claim.weight, at: now)
      claims[id]!.isHeld = true
      if claim.lender == nil {
        inUse += claim.weight
        line.remove(id)
      } else {
        inside.remove(id)
      }
      if id != own { change.granted.append(claim.owner) }
    }
    guard due != alarm else { return change }
    alarm = due
    alarmNumber += 1
    change.alarm = due.map { .set($0, number: alarmNumber) } ?? .forget
    return change
  }
}

/// The bucket of a rate, which fills evenly, and from which each start takes its weight.
///
/// It stores the time at which it will be full, so nothing must be done while it fills, and nothing
/// is rounded.
private struct TokenBucket {
  let rate: SharedLimit.Rate
  /// The time in which the bucket fills by one.
  private let interval: Duration
  private var fullAt: Duration?

  init(_ rate: SharedLimit.Rate) {
    self.rate = rate
    interval = rate.period / rate.count
  }

  private var capacity: Duration { interval * rate.count }

  /// When the bucket contains this much; nil if nothing was ever taken.
  func due(_ weight: Int) -> Duration? { fullAt.map { $0 + interval * weight - capacity } }

  mutating func take(_ weight: Int, at now: Duration) {
    fullAt = max(fullAt ?? now, now) + interval * weight
  }

  func changed(to rate: SharedLimit.Rate, at now: Duration) -> TokenBucket {
    var changed = TokenBucket(rate)
    if let fullAt, fullAt > now, capacity > .zero {
      changed.fullAt = now + changed.capacity * min((fullAt - now) / capacity, 1)
    }
    return changed
  }
}
