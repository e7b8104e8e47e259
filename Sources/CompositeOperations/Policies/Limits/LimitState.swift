/// The reservations that hold room of a limit, and those that wait, in order.
///
/// A *reservation* is the request of one operation. It waits, then it is held, and it is removed
/// when it is released. A reservation made inside a holder uses the room of that holder, its
/// *lender*, and waits only for the rate. The lender's room is held as long as a reservation uses
/// it.
///
/// Reservations are granted in the order of the line, and only the first one is considered. So no
/// reservation overtakes another, and a heavy reservation at the head gets its turn when enough
/// room was released. Reservations inside holders have a line of their own. That line goes first,
/// because other reservations may wait for these holders.
///
/// Times are durations since a common origin.
struct LimitState<Owner> {
  typealias ID = Int

  struct Reservation {
    let owner: Owner
    let weight: Int
    /// The holder whose room the reservation uses.
    let lender: ID?
    var isHeld = false
    /// How many reservations use the room: this one, until it is released, and those inside it.
    var users = 1
  }

  private(set) var reservations: [ID: Reservation] = [:]
  /// The reservations that wait for room and then for the rate.
  private(set) var line = WaitingLine()
  /// The reservations inside holders, which wait only for the rate.
  private var inside = WaitingLine()
  /// The total weight of the held reservations.
  private(set) var inUse = 0
  private(set) var maxConcurrent: Int
  private var bucket: TokenBucket?
  private var alarm: Duration?
  private var alarmNumber = 0

  init(maxConcurrent: Int, rate: SharedLimit.Rate? = nil) {
    self.maxConcurrent = maxConcurrent
    bucket = rate.map { TokenBucket($0) }
  }

  var rate: SharedLimit.Rate? { bucket?.rate }

  /// The greatest weight of a reservation. A reservation inside a holder uses the holder's room, so
  /// only the rate limits its weight.
  func greatestWeight(inside lender: ID?) -> Int {
    let count = bucket?.rate.count ?? .max
    return lender == nil ? min(maxConcurrent, count) : count
  }

  // MARK: - Consequences

  /// What to do about the alarm for the time at which the rate admits the next reservation.
  enum Alarm: Equatable {
    /// Nothing: the alarm is set, or not needed.
    case keep
    /// Call ``LimitState/wake(_:at:)`` with this number at this time, instead of an earlier alarm.
    case set(Duration, number: Int)
    /// No reservation waits for the rate: cancel the alarm.
    case forget
  }

  /// The reservations that were granted or refused, and the alarm.
  struct Change {
    var granted: [Owner] = []
    /// Those that are too heavy, with the greatest weight allowed.
    var refused: [(owner: Owner, greatestWeight: Int)] = []
    var alarm = Alarm.keep
  }

  enum Answer: Equatable {
    case granted, waiting
    /// The reservation is too heavy.
    case refused(greatestWeight: Int)
  }

  // MARK: - Inputs

  /// Asks for room.
  ///
  /// - Parameters:
  ///   - number: the unique number of the reservation, which stands in line before reservations
  ///     with higher numbers.
  ///   - holder: the innermost reservation around this one in the same limit.
  mutating func request(
    _ weight: Int, for owner: Owner, number id: ID, inside holder: ID?, at now: Duration
  ) -> (Answer, Change) {
    let lender = holder.flatMap { reservations[$0]?.isHeld == true ? reservations[$0]!.lender ?? $0 : nil }
    let greatestWeight = greatestWeight(inside: lender)
    guard weight <= greatestWeight else { return (.refused(greatestWeight: greatestWeight), Change()) }
    reservations[id] = Reservation(owner: owner, weight: weight, lender: lender)
    if let lender {
      reservations[lender]!.users += 1
      _ = inside.insert(id)
    } else {
      _ = line.insert(id)
    }
    let change = advance(at: now, except: id)
    return (reservations[id]!.isHeld ? .granted : .waiting, change)
  }

  /// Removes a waiting reservation from the line. Does nothing if it does not wait.
  mutating func withdraw(_ id: ID, at now: Duration) -> Change {
    guard let reservation = reservations[id], !reservation.isHeld else { return Change() }
    leave(id)
    return advance(at: now)
  }

  /// Releases the reservation of an operation that has finished or never ran. Called once for each
  /// reservation that was not refused.
  mutating func release(_ id: ID, at now: Duration) -> Change {
    guard let reservation = reservations[id] else { return Change() }
    guard reservation.isHeld else { return withdraw(id, at: now) }
    if let lender = reservation.lender {
      reservations[id] = nil
      dropUser(of: lender)
    } else {
      dropUser(of: id)
    }
    return advance(at: now)
  }

  /// Changes how much may be held. Held reservations keep their room.
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
    let reservation = reservations.removeValue(forKey: id)!
    if let lender = reservation.lender {
      inside.remove(id)
      dropUser(of: lender)
    } else {
      line.remove(id)
    }
  }

  private mutating func dropUser(of id: ID) {
    reservations[id]!.users -= 1
    guard reservations[id]!.users == 0 else { return }
    inUse -= reservations.removeValue(forKey: id)!.weight
  }

  private mutating func refuseHeavy(at now: Duration) -> Change {
    let heavy = reservations.filter { _, reservation in
      !reservation.isHeld && reservation.weight > greatestWeight(inside: reservation.lender)
    }
    // From the last to the first, so that the removal of one does not move another.
    for id in heavy.keys.sorted(by: >) { leave(id) }
    var change = advance(at: now)
    change.refused = heavy.sorted { $0.key < $1.key }.map { _, reservation in
      (reservation.owner, greatestWeight(inside: reservation.lender))
    }
    return change
  }

  /// Grants the reservations that can be granted.
  ///
  /// - Parameter own: the reservation of the request, which gets its answer directly.
  private mutating func advance(at now: Duration, except own: ID? = nil) -> Change {
    var change = Change()
    var due: Duration?
    while let id = inside.first ?? line.first {
      let reservation = reservations[id]!
      if reservation.lender == nil, reservation.weight > maxConcurrent - inUse { break }
      if let next = bucket?.due(reservation.weight), next > now {
        due = next
        break
      }
      bucket?.take(reservation.weight, at: now)
      reservations[id]!.isHeld = true
      if reservation.lender == nil {
        inUse += reservation.weight
        line.remove(id)
      } else {
        inside.remove(id)
      }
      if id != own { change.granted.append(reservation.owner) }
    }
    guard due != alarm else { return change }
    alarm = due
    alarmNumber += 1
    change.alarm = due.map { .set($0, number: alarmNumber) } ?? .forget
    return change
  }
}

/// The bucket of a rate. It fills evenly, and each start takes its weight out of it.
///
/// The bucket stores the time at which it will be full. So nothing must be done while it fills, and
/// nothing is rounded.
private struct TokenBucket {
  let rate: SharedLimit.Rate
  /// The time in which the bucket fills by one.
  private let interval: Duration
  private var fullAt: Duration?

  init(_ rate: SharedLimit.Rate) {
    self.rate = rate
    interval = min(rate.period, Timekeeper.Time.longest) / rate.count
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
