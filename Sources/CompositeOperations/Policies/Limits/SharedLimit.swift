import Foundation

/// How much may go on at a time, and how much may start in a time, of operations that need have nothing else in common:
/// see ``ComposableOperation/limited(by:weight:)``.
///
/// ```swift
/// let api = SharedLimit("api", maxConcurrent: 4, rate: .init(10, per: .seconds(1)))
/// let page = Download(url).limited(by: api)
/// let album = Upload(photos).limited(by: api, weight: 3)
/// ```
///
/// It is a weighted semaphore, a rate, or both. Keep one for each thing that is limited; operations that are limited by
/// it keep it, too. May be used from any thread.
public final class SharedLimit: Sendable {
  /// How much may start in a time.
  ///
  /// There is a bucket that holds ``count``, begins full, and fills evenly, by ``count`` in each ``period``. What starts
  /// takes its weight out of it, and waits as long as there is less. So in any time there start ``count`` at most, and
  /// what the bucket has been filled by meanwhile.
  public struct Rate: Sendable, Hashable {
    /// How much may start in a period.
    public let count: Int
    /// The period.
    public let period: Duration

    /// Makes a rate. Traps unless both are positive.
    ///
    /// - Parameters:
    ///   - count: how much may start in a period.
    ///   - period: the period.
    public init(_ count: Int, per period: Duration) {
      require(
        count > 0 && period > .zero,
        "SharedLimit.Rate was given \(count) per \(period), so that nothing could ever start, or there is no limit. Use "
          + "positive numbers.")
      self.count = count
      self.period = period
    }
  }

  private struct State {
    var limit: LimitState<LimitClaim>
    /// What is set on the clock, and the number of the alarm that it is for.
    var timer: (timer: Timekeeper.Timer, number: Int)?

    /// Writes down how claims stand now.
    mutating func change(
      _ input: (inout LimitState<LimitClaim>) -> LimitState<LimitClaim>.Change
    ) -> Consequences {
      let change = input(&limit)
      for claim in change.granted { claim.standing = .granted }
      for refusal in change.refused { refusal.owner.standing = .refused(greatestWeight: refusal.greatestWeight) }
      let decided = change.granted + change.refused.map(\.owner)
      return Consequences(gates: decided.compactMap { $0.gate.take() }, alarm: change.alarm)
    }
  }

  /// What is done outside the lock.
  private struct Consequences {
    var gates: [LimitGate] = []
    var alarm = LimitState<LimitClaim>.Alarm.keep
  }

  /// What the limit is called in timelines and errors.
  public let name: String?
  private let timekeeper: Timekeeper
  private let state: LockBox<State>

  /// Makes a limit that nobody has come to.
  ///
  /// - Parameters:
  ///   - name: what it is called in timelines and errors.
  ///   - maxConcurrent: how much may go on at the same time: the greatest sum of weights. Traps unless it is positive. By
  ///     default there is no such limit.
  ///   - rate: how much may start in a time; nil for no such limit.
  ///   - clock: the clock that the rate is measured by.
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
      "SharedLimit was given a maxConcurrent of \(maxConcurrent), so that nothing could ever run. Use 1 or more.")
  }

  /// How much may go on at the same time: the greatest sum of the weights of operations that run.
  ///
  /// Can be changed at any time. Raised, it lets those go on at once that wait and have room now. Lowered, it interrupts
  /// nothing: who runs goes on, and the next one waits until there is room. Operations that wait and have become heavier
  /// than the limit fail with ``LimitError``. Traps unless it is positive.
  public var maxConcurrent: Int {
    get { state.withLock { $0.limit.maxConcurrent } }
    set {
      SharedLimit.requirePositive(newValue)
      let now = timekeeper.now.offset
      carryOut(state.withLock { $0.change { $0.setMaxConcurrent(newValue, at: now) } })
    }
  }

  /// How much may start in a time; nil for no limit.
  ///
  /// Can be changed at any time, with the same consequences as ``maxConcurrent``. Its bucket stays as full as it was, in
  /// proportion; a new one begins full.
  public var rate: Rate? {
    get { state.withLock { $0.limit.rate } }
    set {
      let now = timekeeper.now.offset
      carryOut(state.withLock { $0.change { $0.setRate(newValue, at: now) } })
    }
  }

  /// Whether nobody holds anything or waits.
  var isUnused: Bool { state.withLock { $0.limit.claims.isEmpty } }

  /// How many operations wait for room.
  var waitingCount: Int { state.withLock { state in state.limit.claims.values.count { !$0.isHeld } } }

  // MARK: - Claims

  /// Asks for the room that a new claim needs. How it stands then is in the claim.
  ///
  /// - Parameter place: where it stands among those that wait.
  func request(_ claim: LimitClaim, place: Int) {
    let now = timekeeper.now.offset
    let holder = claim.holderAround
    carryOut(
      state.withLock { state in
        state.change { limit in
          let (id, answer, change) = limit.request(claim.weight, for: claim, number: place, inside: holder, at: now)
          claim.id = id
          switch answer {
          case .granted: claim.standing = .granted
          case .waiting: claim.standing = .waiting
          case .refused(let greatestWeight): claim.standing = .refused(greatestWeight: greatestWeight)
          }
          return change
        }
      })
  }

  func standing(of claim: LimitClaim) -> LimitClaim.Standing { state.withLock { _ in claim.standing } }

  /// Has a gate told when the claim, which waited when it was made, waits no more. Returns how it stands.
  func attach(_ gate: LimitGate, to claim: LimitClaim) -> LimitClaim.Standing {
    state.withLock { _ in
      if case .waiting = claim.standing { claim.gate = gate }
      return claim.standing
    }
  }

  /// The claim leaves the line at once, if it still waits.
  func withdraw(_ claim: LimitClaim) {
    let now = timekeeper.now.offset
    end(claim) { $0.withdraw(claim.id, at: now) }
  }

  /// The operation has finished, or will not run.
  func release(_ claim: LimitClaim) {
    let now = timekeeper.now.offset
    end(claim) { $0.release(claim.id, at: now) }
  }

  private func end(_ claim: LimitClaim, _ input: (inout LimitState<LimitClaim>) -> LimitState<LimitClaim>.Change) {
    var gate: LimitGate?  // released outside the lock
    let consequences = state.withLock { state in
      swap(&gate, &claim.gate)
      // A claim that was refused has no number in the state.
      if case .refused = claim.standing { return Consequences() }
      return state.change(input)
    }
    withExtendedLifetime(gate) {}
    carryOut(consequences)
  }

  private func wake(_ number: Int) {
    let now = timekeeper.now.offset
    carryOut(state.withLock { $0.change { $0.wake(number, at: now) } })
  }

  // MARK: - Consequences

  private func carryOut(_ consequences: Consequences) {
    setAlarm(consequences.alarm)
    for gate in consequences.gates { gate.pass() }
  }

  private func setAlarm(_ alarm: LimitState<LimitClaim>.Alarm) {
    switch alarm {
    case .keep:
      break
    case .set(let time, let number):
      let timer = timekeeper.at(Timekeeper.Time(offset: time)) { [weak self] in self?.wake(number) }
      // A thread with a later alarm may have been here first.
      let unneeded: Timekeeper.Timer? = state.withLock { state in
        guard state.limit.isCurrent(alarm: number) else { return timer }
        defer { state.timer = (timer, number) }
        return state.timer?.timer
      }
      if let unneeded { timekeeper.cancel(unneeded) }
    case .forget:
      let unneeded: Timekeeper.Timer? = state.withLock { state in
        guard let timer = state.timer, !state.limit.isCurrent(alarm: timer.number) else { return nil }
        state.timer = nil
        return timer.timer
      }
      if let unneeded { timekeeper.cancel(unneeded) }
    }
  }
}
