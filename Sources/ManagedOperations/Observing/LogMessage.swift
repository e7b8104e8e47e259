import CompositeOperations

/// A line for the log of an ``OperationManager``.
public struct LogMessage: Sendable {
  /// How important a message is.
  public enum Level: Int, Sendable, Comparable, CaseIterable {
    /// Each step of each task.
    case debug
    /// Tasks that finish, and reactions.
    case info
    /// Attempts that failed, and tasks that are requeued because of that.
    case warning
    /// Tasks that failed.
    case error

    /// Whether one level is less important than another.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// What a message is about, to filter by.
  public enum Category: String, Sendable, CaseIterable {
    /// Tasks that are added, started and finish.
    case tasks
    /// Interceptors and batches.
    case interception
    /// Turns and attempts.
    case execution
    /// Reactors.
    case reaction
  }

  /// How important it is.
  public let level: Level
  /// What it is about.
  public let category: Category
  /// The identifier of the task that it is about.
  public let taskIdentifier: Int
  /// The line, without level, category and time.
  public let text: String
}

extension LogMessage: CustomStringConvertible {
  /// Level, category and text in a line.
  public var description: String { "[\(level)][\(category.rawValue)] \(text)" }
}

extension ManagedEvent.Kind {
  /// Where a message about it belongs.
  var category: LogMessage.Category {
    switch self {
    case .added, .started, .finished: .tasks
    case .held, .released: .interception
    case .queued, .attemptStarted, .attemptEnded: .execution
    case .reacting, .joinedReaction, .requeued: .reaction
    }
  }

  var level: LogMessage.Level {
    switch self {
    case .added, .started, .held, .released, .queued, .attemptStarted, .joinedReaction: .debug
    case .attemptEnded(let outcome) where outcome.error != nil: .warning
    case .requeued: .warning
    case .attemptEnded: .debug
    case .finished(let outcome) where outcome.error != nil: .error
    case .finished, .reacting: .info
    }
  }
}
