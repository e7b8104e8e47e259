public import CompositeOperations

/// Something that happened to a task of an ``OperationManager``, as its event streams tell.
///
/// Switch on ``kind``; ``outcome``, ``participant`` and ``delay`` are what the events of some kinds
/// carry. The ``description`` is a line for a log:
///
/// ```swift
/// for await event in manager.events() where event.outcome?.error != nil { log.warning("\(event)") }
/// ```
///
/// The last event of each task is ``Kind/finished`` or ``Kind/dropped``, also of a task that the
/// manager refuses, discards or gives up. So a task whose handle was not kept does not go silently.
public struct ManagedEvent: Sendable, CountedEvent {
  /// What can happen.
  ///
  /// More kinds may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The task was added.
    public static let added = Kind(value: .added)
    /// It was started.
    public static let started = Kind(value: .started)
    /// An interceptor, the event's ``ManagedEvent/participant``, holds it.
    public static let held = Kind(value: .held)
    /// It was released from the batch of an interceptor, the event's ``ManagedEvent/participant``.
    public static let released = Kind(value: .released)
    /// It can execute, and waits for its turn.
    public static let queued = Kind(value: .queued)
    /// An attempt has started.
    public static let attemptStarted = Kind(value: .attemptStarted)
    /// An attempt has ended with ``ManagedEvent/outcome``. Not told of an attempt whose task has
    /// ended before it: by its timeout, or because you settled the handle.
    public static let attemptEnded = Kind(value: .attemptEnded)
    /// A reactor, the event's ``ManagedEvent/participant``, has begun to react to it.
    public static let reacting = Kind(value: .reacting)
    /// It waits for a reaction of ``ManagedEvent/participant`` that was under way already.
    public static let joinedReaction = Kind(value: .joinedReaction)
    /// It executes again after ``ManagedEvent/delay``, because reactors say so.
    public static let requeued = Kind(value: .requeued)
    /// Its handle has settled with ``ManagedEvent/outcome``, and all observers have returned. If it
    /// settled while it waited in an `OperationQueue`, observers may be called later, when that
    /// queue starts it.
    public static let finished = Kind(value: .finished)
    /// Its handle was released before its start, so it never executes.
    public static let dropped = Kind(value: .dropped)

    /// The kind in a word, such as `attemptStarted`.
    public var description: String { value.rawValue }

    enum Value: String {
      case added, started, held, released, queued, attemptStarted, attemptEnded, reacting, joinedReaction, requeued
      case finished, dropped
    }

    let value: Value
  }

  /// What the library itself switches on, without a `default`. Interceptors and reactors are
  /// indices in their manager.
  enum Content {
    case added, started, queued, attemptStarted, dropped
    case held(interceptor: Int), released(interceptor: Int)
    case reacting(reactor: Int, key: String?), joinedReaction(reactor: Int, key: String?)
    case requeued(after: Duration)
    case attemptEnded(Outcome<any Sendable>), finished(Outcome<any Sendable>)
  }

  let content: Content
  /// The id of the task: that of its handle.
  public let taskID: Int
  /// The type of the task, as text.
  public let taskDescription: String
  /// The number of the attempt, for events of attempts; otherwise how many there were so far.
  public let attempt: Int
  /// The interceptor, of ``Kind/held`` and ``Kind/released``, or the reactor, of ``Kind/reacting``
  /// and ``Kind/joinedReaction``, as it was written (`.rateLimit`) or as its type; nil for other
  /// kinds.
  public let participant: String?
  /// How many events the stream has dropped before this one, because the reader was too slow.
  public package(set) var droppedCount = 0

  /// What happened.
  public var kind: Kind {
    switch content {
    case .added: .added
    case .started: .started
    case .held: .held
    case .released: .released
    case .queued: .queued
    case .attemptStarted: .attemptStarted
    case .attemptEnded: .attemptEnded
    case .reacting: .reacting
    case .joinedReaction: .joinedReaction
    case .requeued: .requeued
    case .finished: .finished
    case .dropped: .dropped
    }
  }

  /// How the attempt ended, of ``Kind/attemptEnded``, or the task, of ``Kind/finished``; nil for
  /// other kinds.
  public var outcome: Outcome<any Sendable>? {
    switch content {
    case .attemptEnded(let outcome), .finished(let outcome): outcome
    default: nil
    }
  }

  /// The key of the reaction, if it has one, of ``Kind/reacting`` and ``Kind/joinedReaction``; nil
  /// for other kinds.
  package var reactionKey: String? {
    switch content {
    case .reacting(_, let key), .joinedReaction(_, let key): key
    default: nil
    }
  }

  /// How long the task waits before it executes again, of ``Kind/requeued``; nil for other kinds.
  public var delay: Duration? {
    if case .requeued(let delay) = content { delay } else { nil }
  }
}

extension ManagedEvent: CustomStringConvertible {
  /// A line for a log, such as `task 7 (Search): attempt 2 started`. Line ends and control
  /// characters, in the text of an error for example, are replaced.
  public var description: String { HarmlessText.line("task \(taskID) (\(taskDescription)): \(text)") }

  private var text: String {
    let participant = participant ?? "?"
    let key = reactionKey.map { $0.isEmpty ? "" : " for “\($0)”" } ?? ""
    return switch content {
    case .added: "added"
    case .started: "started"
    case .held: "held by \(participant)"
    case .released: "released by \(participant)"
    case .queued: "queued"
    case .attemptStarted: "attempt \(attempt) started"
    case .attemptEnded(let outcome): "attempt \(attempt) ended: \(outcome)"
    case .reacting: "\(participant) reacts\(key)"
    case .joinedReaction: "waits for \(participant)\(key)"
    case .requeued(let delay): delay > .zero ? "requeued after \(delay)" : "requeued"
    case .finished(let outcome): "finished: \(outcome)"
    case .dropped: "dropped before its start"
    }
  }
}
