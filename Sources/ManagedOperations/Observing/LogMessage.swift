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
  ///
  /// More categories may come: a `switch` over them needs a `default`.
  public struct Category: RawRepresentable, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Tasks that are added, started and finish.
    public static let tasks = Category(value: .tasks)
    /// Interceptors and batches.
    public static let interception = Category(value: .interception)
    /// Turns and attempts.
    public static let execution = Category(value: .execution)
    /// Reactors.
    public static let reaction = Category(value: .reaction)

    /// All categories of this version.
    public static var allCases: [Category] { Value.allCases.map(Category.init) }

    /// The category in a word, such as `tasks`.
    public var rawValue: String { value.rawValue }

    /// The same as ``rawValue``.
    public var description: String { value.rawValue }

    private enum Value: String, CaseIterable {
      case tasks, interception, execution, reaction
    }

    private let value: Value

    private init(value: Value) { self.value = value }

    /// The category of this word; nil if there is none.
    ///
    /// - Parameter rawValue: the category in a word, such as `tasks`.
    public init?(rawValue: String) {
      guard let value = Value(rawValue: rawValue) else { return nil }
      self.init(value: value)
    }
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

extension ManagedEvent.Content {
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
