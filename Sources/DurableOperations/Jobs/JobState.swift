/// Where a job stands.
///
/// ```
///               ┌────────────── a further attempt ───────────────┐
///               ▼                                                │
/// enqueue → waiting ◀── scheduled (its time comes)          executing → done
///               ▲   ◀── blocked (all prerequisites done)         │   ↘ dead, held, cancelled
///               └── retry ── held, dead, cancelled               │
///               └──────────────── claimed ───────────────────────┘
/// ```
///
/// An enum, since programs switch over it: the states are part of the stored form, so a further one
/// would be a new version of the schema.
public enum JobState: Int, Sendable, Codable, CaseIterable, CustomStringConvertible {
  /// Runs as soon as there is room for it.
  case waiting = 0
  /// Waits for its time: it was enqueued for later, or its next attempt is not due yet.
  case scheduled = 1
  /// Waits for other jobs, its prerequisites.
  case blocked = 2
  /// Runs, in this process or another.
  case executing = 3
  /// Waits until somebody retries it.
  case held = 4
  /// Was cancelled.
  case cancelled = 5
  /// Has failed for good, and waits for somebody to look at it: a dead letter.
  case dead = 6
  /// Succeeded.
  case done = 7

  /// The state's name, as in the code.
  public var description: String {
    switch self {
    case .waiting: "waiting"
    case .scheduled: "scheduled"
    case .blocked: "blocked"
    case .executing: "executing"
    case .held: "held"
    case .cancelled: "cancelled"
    case .dead: "dead"
    case .done: "done"
    }
  }

  /// The state with a name.
  public init?(name: String) {
    guard let state = Self.allCases.first(where: { $0.description == name }) else { return nil }
    self = state
  }

  /// The state as it is stored.
  var number: Int64 { Int64(rawValue) }

  /// Whether the job neither runs nor will run by itself.
  public var isSettled: Bool { self == .done || self == .dead || self == .cancelled }
}
