import Foundation

// Keeps operations from running when a resource that they need has failed too often. The whole
// policy is in this file: its state, its guard, its error, and the method.

extension ComposableOperation {
  /// Runs this operation unless a circuit breaker that it shares with others is open.
  ///
  /// ```swift
  /// let mail = CircuitBreaker("mail", failureThreshold: 3, resetAfter: .seconds(60))
  /// let letter = Send(message).timeout(.seconds(10)).guarded(by: mail)
  /// ```
  ///
  /// Returns one operation that owns this operation. After its start, the returned operation waits
  /// for the dependencies of this operation. Then it consults the breaker, where operations run. A
  /// closed breaker lets this operation run, and records its end. If the breaker is open, this
  /// operation is cancelled without being run, and the returned operation fails at once with
  /// ``CircuitBreakerError``.
  ///
  /// The returned operation has the outcome of this operation. Cancelling the returned operation
  /// cancels this operation, which the breaker counts neither as a failure nor as a success. If
  /// this operation is running, queued or composed elsewhere, it is not held back: the returned
  /// operation only waits for it. The end of such an operation counts if the breaker would have let
  /// an operation run; a half open breaker takes it as its one operation.
  ///
  /// Operations inside this one do not consult the same breaker again: what is around them counts.
  ///
  /// A breaker around a retry counts all attempts as one. Inside a retry, each attempt consults the
  /// breaker, and fails if the breaker is open. Let the retry policy stop then, or wait for
  /// ``CircuitBreakerError/retryAfter``.
  ///
  /// - Parameter breaker: the breaker. Kept until the returned operation is released.
  public func guarded(by breaker: CircuitBreaker) -> SimpleOperation<Value> {
    ComposedOperation(GuardForm(self, CircuitBreakerGuard(breaker: breaker)))
  }
}

// MARK: - The breaker

/// Keeps operations from running while a resource that they share fails: see
/// ``ComposableOperation/guarded(by:)``.
///
/// ```text
///  closed ──failures in a row──▶ open ──time──▶ half open ──success──▶ closed
///                                  ▲                │
///                                  └────failure─────┘
/// ```
///
/// A half open breaker admits one operation. The end of that operation decides whether the breaker
/// closes or opens again. If an operation was admitted before the breaker last opened or closed,
/// its end no longer counts.
///
/// Use one breaker for each resource that can fail by itself, such as a server or a device. May be
/// used on any thread.
public final class CircuitBreaker: Sendable {
  /// What a breaker does with the next operations.
  ///
  /// More states may come: a `switch` over them needs a `default`.
  public struct State: Sendable, Hashable, CustomStringConvertible {
    /// The breaker lets operations run.
    public static let closed = State(description: "closed")
    /// The breaker lets no operation run.
    public static let open = State(description: "open")
    /// The breaker lets one operation run. The end of that operation decides the next state.
    public static let halfOpen = State(description: "half open")

    /// The state in words.
    public let description: String
  }

  /// The name of the breaker in timelines and errors.
  package let name: String?
  private let timekeeper: Timekeeper
  private let isFailure: @Sendable (any Error) -> Bool
  private let whenStateChanges: @Sendable (State) -> Void
  private let circuit: LockBox<CircuitState>

  /// Makes a breaker that is closed.
  ///
  /// - Parameters:
  ///   - name: its name in timelines and errors.
  ///   - failureThreshold: how many failures in a row open it. Traps unless it is positive.
  ///   - resetAfter: how long it stays open, measured by `clock`. Traps if it is negative.
  ///   - clock: the clock that measures the time.
  ///   - isFailure: returns whether an error means that the resource fails. Other errors, such as
  ///     that of an invalid request, count as a success, because the resource answered. By default
  ///     all errors count as failures. Called under no lock, on the thread that settled the
  ///     operation.
  public convenience init(
    _ name: String? = nil, failureThreshold: Int = 5, resetAfter: Duration = .seconds(30),
    clock: some Clock<Duration> = ContinuousClock(), isFailure: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) {
    self.init(
      name, failureThreshold: failureThreshold, resetAfter: resetAfter, clock: clock, isFailure: isFailure,
      whenStateChanges: { _ in })
  }

  /// Makes a breaker that is closed, and reports its changes.
  ///
  /// - Parameters:
  ///   - name: its name in timelines and errors.
  ///   - failureThreshold: how many failures in a row open it. Traps unless it is positive.
  ///   - resetAfter: how long it stays open, measured by `clock`. Traps if it is negative.
  ///   - clock: the clock that measures the time.
  ///   - isFailure: returns whether an error means that the resource fails. To count all errors,
  ///     return true.
  ///   - whenStateChanges: called with each new state, in order; with `halfOpen` when the first
  ///     operation is let through, not when the time is over. Called under no lock, by one thread
  ///     at a time, which is a thread that uses the breaker.
  public init(
    _ name: String? = nil, failureThreshold: Int = 5, resetAfter: Duration = .seconds(30),
    clock: some Clock<Duration> = ContinuousClock(), isFailure: @escaping @Sendable (any Error) -> Bool,
    whenStateChanges: @escaping @Sendable (State) -> Void
  ) {
    require(
      failureThreshold > 0,
      "CircuitBreaker was made with a failureThreshold of \(failureThreshold), so it would open before anything failed. Use "
        + "1 or more.")
    require(
      resetAfter >= .zero,
      "CircuitBreaker was made with a resetAfter of \(resetAfter), which is negative. Use zero or more.")
    self.name = name
    timekeeper = .of(clock)
    self.isFailure = isFailure
    self.whenStateChanges = whenStateChanges
    circuit = LockBox(CircuitState(threshold: failureThreshold, resetAfter: resetAfter))
  }

  /// The current state: what the breaker does with the next operation.
  public var state: State {
    let now = timekeeper.now
    return circuit.withLock { $0.state(at: now) }
  }

  /// Opens the breaker now, for as long as failures would open it.
  public func trip() { change { $0.trip(at: $1) } }

  /// Closes the breaker now, and forgets the failures.
  public func reset() { change { circuit, _ in circuit.reset() } }

  fileprivate func admit() -> CircuitState.Admission { change { $0.admit(at: $1) } }

  fileprivate func ended(_ ticket: CircuitState.Ticket, _ verdict: Verdict) {
    let ending: CircuitState.Ending =
      switch verdict {
      case .cancelled: .undecided
      case .failure(let error) where isFailure(error): .failure
      default: .success
      }
    change { $0.ended(ticket, as: ending, at: $1) }
  }

  private func change<R>(_ input: (inout CircuitState, Timekeeper.Time) -> R) -> R {
    let now = timekeeper.now
    let (result, tells) = circuit.withLock { circuit in
      let before = circuit.phase.state
      let result = input(&circuit, now)
      return (result, circuit.noteChange(from: before))
    }
    if tells {
      while let states = circuit.withLock({ $0.changes.nextDelivery() }) {
        for state in states { ThreadContext.current.runUserCode(in: nil) { whenStateChanges(state) } }
      }
    }
    return result
  }
}

// MARK: - How it decides

/// The state of a breaker.
struct CircuitState {
  enum Phase: Equatable {
    /// This many operations have failed in a row.
    case closed(failures: Int)
    case open(until: Timekeeper.Time)
    case halfOpen(isTrying: Bool)

    var state: CircuitBreaker.State {
      switch self {
      case .closed: .closed
      case .open: .open
      case .halfOpen: .halfOpen
      }
    }
  }

  /// Identifies an operation that was admitted.
  struct Ticket: Equatable {
    fileprivate let period: Int
  }

  enum Admission: Equatable {
    case run(Ticket)
    /// - Parameter retryAfter: when the next operation may be admitted; nil if that depends on an
    ///   operation that runs.
    case refuse(retryAfter: Duration?)
  }

  enum Ending: CaseIterable {
    case success, failure
    /// The operation was cancelled.
    case undecided
  }

  private let threshold: Int
  private let resetAfter: Duration
  private(set) var phase = Phase.closed(failures: 0)
  /// Changes when the breaker opens or closes, or lets another operation try.
  private var period = 0
  var changes = Outbox<CircuitBreaker.State>()

  init(threshold: Int, resetAfter: Duration) {
    self.threshold = threshold
    self.resetAfter = resetAfter
  }

  func state(at now: Timekeeper.Time) -> CircuitBreaker.State {
    if case .open(let end) = phase, end <= now { return .halfOpen }
    return phase.state
  }

  mutating func admit(at now: Timekeeper.Time) -> Admission {
    switch phase {
    case .closed:
      return .run(Ticket(period: period))
    case .open(let end) where now < end:
      return .refuse(retryAfter: now.duration(to: end))
    case .halfOpen(isTrying: true):
      return .refuse(retryAfter: nil)
    case .open, .halfOpen(isTrying: false):
      begin(.halfOpen(isTrying: true))
      return .run(Ticket(period: period))
    }
  }

  mutating func ended(_ ticket: Ticket, as ending: Ending, at now: Timekeeper.Time) {
    guard ticket.period == period else { return }
    switch (phase, ending) {
    case (.closed(let failures), .failure):
      if failures + 1 < threshold { phase = .closed(failures: failures + 1) } else { trip(at: now) }
    case (.closed, .success): phase = .closed(failures: 0)
    case (.halfOpen, .success): reset()
    case (.halfOpen, .failure): trip(at: now)
    case (.halfOpen, .undecided): begin(.halfOpen(isTrying: false))
    case (.closed, .undecided), (.open, _): break
    }
  }

  mutating func trip(at now: Timekeeper.Time) { begin(.open(until: now + resetAfter)) }

  mutating func reset() { begin(.closed(failures: 0)) }

  private mutating func begin(_ phase: Phase) {
    self.phase = phase
    period += 1
  }

  /// Records a change of state. Returns whether the caller must deliver the changes.
  mutating func noteChange(from before: CircuitBreaker.State) -> Bool {
    guard phase.state != before else { return false }
    changes.append(phase.state)
    return changes.beginDelivery()
  }
}

// MARK: - The guard

/// The guard of `guarded`: an operation runs if a breaker admits it.
private struct CircuitBreakerGuard: OperationGuard {
  let breaker: CircuitBreaker
  var ticket: CircuitState.Ticket?

  var kind: OperationKind { .guarded }

  mutating func next(_ turn: GuardTurn, after previous: Operation?) -> Composition.Made? {
    // What is around it has asked, and counts.
    if turn.composition.environment.breakers.contains(ObjectIdentifier(breaker)) { return nil }
    switch breaker.admit() {
    case .run(let ticket):
      self.ticket = ticket
      turn.composition.environment.breakers.append(ObjectIdentifier(breaker))
      return nil
    case .refuse(let retryAfter):
      guard turn.isOurs else { return nil }
      let error = CircuitBreakerError(
        operationDescription: OperationError.describe(turn.guarded, orNamed: turn.ownerName), breakerName: breaker.name,
        retryAfter: retryAfter)
      return .settle(.failure(error))
    }
  }

  mutating func isOver(in composition: Composition, _ verdict: Verdict) {
    guard let ticket = ticket.take() else { return }
    composition.runUserCode(.current) { breaker.ended(ticket, verdict) }
  }
}

// MARK: - The error

/// The error of an operation that a ``CircuitBreaker`` did not let run.
public struct CircuitBreakerError: Error, Sendable, Equatable {
  /// The operation, as text: its name if it has one, and its type.
  package let operationDescription: String
  /// The name of the breaker, if it has one.
  public let breakerName: String?
  /// How long the breaker stays open, counted from the moment when this error was made. Nil if the
  /// breaker is half open: then the end of the operation that runs decides.
  public let retryAfter: Duration?
}

extension CircuitBreakerError: DescribedError {
  /// A text that names the operation and the breaker, and tells when to try again.
  public var description: String {
    let name = breakerName.map { HarmlessText.line(ErrorReport.quoted($0)) }
    let breaker = name.map { "The circuit breaker \($0)" } ?? "A circuit breaker"
    let state = retryAfter == nil ? "is half open, and lets only one operation run" : "is open"
    let remedy = retryAfter.map { "Try again in \($0)." } ?? "Try again when the operation that runs now has ended."
    return "\(breaker) \(state), so \(operationDescription) was not run. \(remedy)"
  }
}
