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
  /// It runs as soon as there is room.
  case waiting = 0
  /// It waits for its time: it was enqueued for later, or its next attempt is not due yet.
  case scheduled = 1
  /// It waits for other jobs, its prerequisites.
  case blocked = 2
  /// It runs, in this process or another.
  case executing = 3
  /// It waits until the program retries it.
  case held = 4
  /// It was cancelled.
  case cancelled = 5
  /// It has failed for good: a dead letter, for an operator to look at.
  case dead = 6
  /// It succeeded.
  case done = 7

  /// The name of the state, as in the code.
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

  /// The state with a name; nil if there is none.
  package init?(name: String) {
    guard let state = Self.allCases.first(where: { $0.description == name }) else { return nil }
    self = state
  }

  /// The state as it is stored.
  var number: Int64 { Int64(rawValue) }

  /// Whether the job has ended: it is done, dead or cancelled. A held job has not.
  public var isSettled: Bool { self == .done || self == .dead || self == .cancelled }
}
