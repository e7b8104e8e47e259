import Foundation

/// Limits how much runs at once, and how much starts in a time. Any operations can share a limit:
/// see ``ComposableOperation/limited(by:weight:)``.
///
/// ```swift
/// let api = SharedLimit("api", maxConcurrent: 4, rate: .tokens(10, per: .seconds(1)))
/// let page = Download(url).limited(by: api)
/// let album = Upload(photos).limited(by: api, weight: 3)
/// ```
///
/// It is a weighted semaphore, a rate limit, or both. Use one for each limited resource. The
/// operations that use a limit keep it alive. May be used on any thread.
public final class SharedLimit: Sendable {
  /// A limit for how much starts in a time.
  ///
  /// A rate is a token bucket that holds a number of tokens, begins full, and fills evenly by that
  /// number in each period. An operation that starts takes its weight out of the bucket, and waits
  /// while the bucket contains less. So in any span of time at most this number can start, plus
  /// what has filled the bucket meanwhile.
  public struct Rate: Sendable, Hashable {
    /// How much may start in a period.
    package let count: Int
    /// The period.
    package let period: Duration

    /// A rate. Traps unless both are positive.
    ///
    /// - Parameters:
    ///   - count: how much may start in a period.
    ///   - period: the period.
    public static func tokens(_ count: Int, per period: Duration) -> Rate {
      require(
        count > 0 && period > .zero,
        "SharedLimit.Rate was given \(count) per \(period), so either nothing could ever start, or nothing is limited. "
          + "Use a positive count and a positive period.")
      return Rate(count: count, period: period)
    }
  }

  private struct State {
    var limit: LimitState<LimitReservation>
    /// The timer on the clock, and the number of its alarm.
    var timer: (timer: Timekeeper.Timer, number: Int)?
  }

  /// The name of the limit in timelines and errors.
  package let name: String?
  private let timekeeper: Timekeeper
  private let state: LockBox<State>

  /// Makes a limit.
  ///
  /// - Parameters:
  ///   - name: its name in timelines and errors.
  ///   - maxConcurrent: the greatest sum of weights of operations that run at once. Traps unless it
  ///     is positive. No limit by default.
  ///   - rate: how much may start in a time; nil for no limit.
  ///   - clock: the clock that measures the rate.
  public init(
    _ name: String? = nil, maxConcurrent: Int = .max, rate: Rate? = nil, clock: some Clock<Duration> = ContinuousClock()
  ) {
    SharedLimit.requirePositive(maxConcurrent)
    self.name = name
    timekeeper = .of(clock)
    state = LockBox(State(limit: LimitState(maxConcurrent: maxConcurrent, rate: rate)))
  }

  private static func requirePositive(_ maxConcurrent: Int) {
    require(
      maxConcurrent > 0,
      "SharedLimit was given a maxConcurrent of \(maxConcurrent), so nothing could ever run. Use 1 or more.")
  }

  /// The greatest sum of the weights of operations that run at once.
  ///
  /// The limit can be changed at any time. Raising it starts the waiting operations that now have
  /// room. Lowering it interrupts nothing: running operations continue, and the next operation
  /// waits until there is room. Waiting operations that are now heavier than the limit fail with
  /// ``LimitError``. Traps unless it is positive.
  public var maxConcurrent: Int {
    get { state.withLock { $0.limit.maxConcurrent } }
    set {
      SharedLimit.requirePositive(newValue)
      change { $0.setMaxConcurrent(newValue, at: $1) }
    }
  }

  /// How much may start in a time; nil for no limit.
  ///
  /// The rate can be changed at any time, with the same consequences as ``maxConcurrent``. The
  /// bucket stays as full as it was, proportionally. A new bucket begins full.
  public var rate: Rate? {
    get { state.withLock { $0.limit.rate } }
    set {
      change { $0.setRate(newValue, at: $1) }
    }
  }

  /// Whether no operation holds room or waits.
  var isUnused: Bool { state.withLock { $0.limit.reservations.isEmpty } }

  /// How many operations wait for room.
  var waitingCount: Int { state.withLock { state in state.limit.reservations.values.count { !$0.isHeld } } }

  // MARK: - Reservations

  /// Requests room for a new reservation, and sets its standing.
  ///
  /// - Parameter place: the reservation's place in line.
  func request(_ reservation: LimitReservation, place: Int) {
    let holder = reservation.holderAround
    change { limit, now in
      reservation.id = place
      let (answer, change) = limit.request(
        reservation.weight, for: reservation, number: place, inside: holder, at: now)
      reservation.standing = answer
      return change
    }
  }

  func standing(of reservation: LimitReservation) -> LimitState<LimitReservation>.Answer {
    state.withLock { _ in reservation.standing }
  }

  /// Attaches a gate if the reservation waits. The gate passes when the reservation no longer
  /// waits. Returns the standing of the reservation.
  func attach(_ gate: ReservationGate, to reservation: LimitReservation) -> LimitState<LimitReservation>.Answer {
    state.withLock { _ in
      if case .waiting = reservation.standing { reservation.gate = gate }
      return reservation.standing
    }
  }

  /// Removes the reservation from the line if it still waits.
  func withdraw(_ reservation: LimitReservation) {
    end(reservation) { $0.withdraw(reservation.id, at: $1) }
  }

  /// Releases the reservation of an operation that has finished or will not run.
  func release(_ reservation: LimitReservation) {
    end(reservation) { $0.release(reservation.id, at: $1) }
  }

  private func end(_ reservation: LimitReservation, _ input: Input) {
    var gate: ReservationGate?  // released outside the lock
    change { limit, now in
      swap(&gate, &reservation.gate)
      // A reservation that was refused has no number in the state.
      if case .refused = reservation.standing { return LimitState.Change() }
      return input(&limit, now)
    }
    withExtendedLifetime(gate) {}
  }

  // MARK: - Changes

  private typealias Input =
    (inout LimitState<LimitReservation>, _ now: Duration) -> LimitState<LimitReservation>.Change

  /// Changes the limit, updates the standing of the reservations, and carries out what follows.
  private func change(_ input: Input) {
    let now = timekeeper.now.offset
    let (gates, alarm) = state.withLock { state in
      let change = input(&state.limit, now)
      for reservation in change.granted { reservation.standing = .granted }
      for (reservation, weight) in change.refused { reservation.standing = .refused(greatestWeight: weight) }
      let decided = change.granted + change.refused.map(\.owner)
      return (decided.compactMap { $0.gate.take() }, change.alarm)
    }
    setAlarm(alarm)
    for gate in gates { gate.pass() }
  }

  private func setAlarm(_ alarm: LimitState<LimitReservation>.Alarm) {
    let unneeded: Timekeeper.Timer?
    switch alarm {
    case .keep:
      return
    case .set(let time, let number):
      let timer = timekeeper.at(Timekeeper.Time(offset: time)) { [weak self] in
        self?.change { $0.wake(number, at: $1) }
      }
      unneeded = state.withLock { state in
        // Another thread may have set a later alarm first.
        guard state.limit.isCurrent(alarm: number) else { return timer }
        defer { state.timer = (timer, number) }
        return state.timer?.timer
      }
    case .forget:
      unneeded = state.withLock { state in
        guard let timer = state.timer, !state.limit.isCurrent(alarm: timer.number) else { return nil }
        state.timer = nil
        return timer.timer
      }
    }
    if let unneeded { timekeeper.cancel(unneeded) }
  }
}
