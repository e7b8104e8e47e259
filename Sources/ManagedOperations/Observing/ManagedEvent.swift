public import CompositeOperations

/// Something that happened to a task of an ``OperationManager``, as its event streams tell.
public struct ManagedEvent: Sendable {
  /// What can happen.
  public enum Kind: Sendable {
    /// The task was added.
    case added
    /// It was started.
    case started
    /// An interceptor, whose type this is, holds it.
    case held(by: String)
    /// The interceptor that held it has let it go.
    case released(by: String)
    /// It can execute, and waits for its turn.
    case queued
    /// An attempt has started.
    case attemptStarted
    /// An attempt has ended like this.
    case attemptEnded(Outcome<any Sendable>)
    /// A reactor, whose type this is, has begun to react to it.
    case reacting(by: String, key: String?)
    /// It waits for a reaction that was under way already.
    case joinedReaction(of: String, key: String?)
    /// Reactors have it execute again.
    case requeued(after: Duration)
    /// Its handle has settled like this, and everybody has been told. The last event of each task.
    case finished(Outcome<any Sendable>)
  }

  /// What happened.
  public let kind: Kind
  /// The identifier of the task: that of its handle.
  public let taskIdentifier: Int
  /// The type of the task, as text.
  public let taskDescription: String
  /// The attempt that is meant, for what happens to attempts; otherwise the number of attempts so far.
  public let attempt: Int
  /// How many events this stream has dropped before this one, for its reader was too slow.
  public let droppedCount: Int
}

extension ManagedEvent: CustomStringConvertible {
  /// A line such as `task 7 (Search): attempt 2 started`.
  public var description: String { "task \(taskIdentifier) (\(taskDescription)): \(kind.text(attempt: attempt))" }
}

extension ManagedEvent.Kind {
  func text(attempt: Int) -> String {
    switch self {
    case .added: "added"
    case .started: "started"
    case .held(let interceptor): "held by \(interceptor)"
    case .released(let interceptor): "released by \(interceptor)"
    case .queued: "queued"
    case .attemptStarted: "attempt \(attempt) started"
    case .attemptEnded(let outcome): "attempt \(attempt) ended: \(outcome)"
    case .reacting(let reactor, let key): "\(reactor) reacts\(Self.suffix(key))"
    case .joinedReaction(let reactor, let key): "waits for \(reactor)\(Self.suffix(key))"
    case .requeued(let delay): delay > .zero ? "requeued after \(delay)" : "requeued"
    case .finished(let outcome): "finished: \(outcome)"
    }
  }

  private static func suffix(_ key: String?) -> String {
    guard let key, !key.isEmpty else { return "" }
    return " for “\(key)”"
  }
}
