/// Where a task is on its way through an ``OperationManager``.
///
/// ```text
/// pending ─▶ (delayed) ─▶ intercepting ─▶ (held) ─▶ queued ─▶ executing ─▶ (reacting) ─▶ finished
///                ▲                                    ▲                        │
///                └────────────── requeued ────────────┴────────────────────────┘
/// ```
///
/// One that is queued is intercepted again if a reaction has outdated what interceptors have made of it. From each of them a cancel leads to `finished`.
public enum ManagedTaskState: String, Sendable, CaseIterable {
  /// It was added and nobody has started it.
  case pending
  /// It waits for the time it was given when it was added, or for the delay of a reaction that requeued it.
  case delayed
  /// It waits for the interceptors, or is being looked at by them.
  case intercepting
  /// An interceptor holds it in its batch.
  case held
  /// It can execute and waits for its turn.
  case queued
  /// An attempt is under way.
  case executing
  /// An attempt has ended, and reactors decide what that means.
  case reacting
  /// It has an outcome.
  case finished
}
