import CompositeOperations
public import Foundation

/// Why a task of an ``OperationManager`` failed, other than by its own work.
public struct ManagedTaskError: Error, Sendable {
  /// What happened.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// An attempt executed longer than its timeout allows.
    public static let timedOut = Code(value: .timedOut)
    /// An interceptor discarded it.
    public static let discarded = Code(value: .discarded)
    /// An interceptor threw an error, the ``ManagedTaskError/cause``.
    public static let interceptionFailed = Code(value: .interceptionFailed)
    /// An interceptor did not answer in time.
    public static let interceptionTimedOut = Code(value: .interceptionTimedOut)
    /// A reactor threw an error, the ``ManagedTaskError/cause``.
    public static let reactionFailed = Code(value: .reactionFailed)
    /// A reactor did not answer in time.
    public static let reactionTimedOut = Code(value: .reactionTimedOut)
    /// The task made an operation that had settled already; each attempt needs a new one.
    public static let operationAlreadyFinished = Code(value: .operationAlreadyFinished)
    /// The manager was released before the task executed, or before a reactor answered.
    public static let managerReleased = Code(value: .managerReleased)
    /// The task was added after the manager had been stopped.
    public static let stopped = Code(value: .stopped)

    /// All codes of this version.
    public static var allCases: [Code] { Value.allCases.map(Code.init) }

    /// The code in a word, such as `timedOut`.
    public var description: String { value.rawValue }

    /// What the library itself switches on, without a `default`.
    enum Value: String, CaseIterable {
      case timedOut, discarded, interceptionFailed, interceptionTimedOut, reactionFailed, reactionTimedOut,
        operationAlreadyFinished, managerReleased, stopped
    }

    let value: Value
  }

  /// What happened, to switch on.
  public let code: Code
  /// The id of the task: that of its handle.
  public let taskID: Int
  /// The type of the task, as text.
  public let taskDescription: String
  /// The interceptor or reactor in question, if there is one: as it was written (`.rateLimit`), or
  /// as its type.
  public let participant: String?
  /// What the interceptor or reactor threw, if it did.
  public var cause: (any Error)? { nested?.contents.cause }
  /// What the attempt had failed with, if a reactor was to react to it.
  public var original: (any Error)? { nested?.contents.original }

  private let nested: NestedErrors<Nested>?

  private struct Nested: Sendable {
    let cause: (any Error)?
    let original: (any Error)?
  }

  init(
    _ code: Code, taskID: Int, taskDescription: String, participant: String? = nil,
    cause: (any Error)? = nil, original: (any Error)? = nil
  ) {
    self.code = code
    self.taskID = taskID
    self.taskDescription = taskDescription
    self.participant = participant
    let isNeeded = cause != nil || original != nil
    nested = isNeeded ? NestedErrors(Nested(cause: cause, original: original)) : nil
  }
}

extension ManagedTaskError: ErrorWithCauses {
  package var causes: [any Error] { [cause, original].compactMap(\.self) }
}

extension ManagedTaskError: ErrorWithReport {
  package var report: ErrorReport {
    // An error with lines of its own stands below the sentence, others stand in it.
    var items: [ErrorReport.Item] = []
    if let cause, cause is any ErrorWithReport {
      items.append(ErrorReport.Item("", cause: cause))
    }
    if let original, original is any ErrorWithReport {
      items.append(ErrorReport.Item("It had reacted to: ", cause: original))
    }
    return ErrorReport(headline: sentence, items: items)
  }

  private var sentence: String {
    let task = "Task \(taskID) (\(ErrorReport.shortened(taskDescription)))"
    let participant = participant.map(ErrorReport.shortened) ?? "?"
    let reason = Self.describe(cause).map { ": \($0)" } ?? ""
    let after = Self.describe(original).map { " It had reacted to: \($0)" } ?? ""
    return switch code.value {
    case .timedOut:
      "\(task) executed longer than its timeout allows, and was cancelled."
    case .discarded:
      "\(task) was discarded by the interceptor \(participant), and did not execute."
    case .interceptionFailed:
      "\(task) did not execute, because the interceptor \(participant) failed\(reason)"
    case .interceptionTimedOut:
      "\(task) did not execute, because the interceptor \(participant) did not answer in time. Answer .hold, and release "
        + "the batch later, rather than wait in an interceptor; or set its timeout."
    case .reactionFailed:
      "\(task) failed, because the reactor \(participant) failed\(reason).\(after)"
    case .reactionTimedOut:
      "\(task) failed, because the reactor \(participant) did not answer in time. If it waits for a task of the same manager, "
        + "which does not start while a reaction suspends the queue, run that in another one; or set the timeout of its "
        + "configuration.\(after)"
    case .operationAlreadyFinished:
      "\(task) made an operation that had finished already. An operation runs once: make a new one in makeOperation() each "
        + "time it is called."
    case .managerReleased:
      "\(task) did not end, because its manager was released. Keep the OperationManager as long as it has something to do."
    case .stopped:
      "\(task) was added to a manager that has been stopped, and does not execute. Make a new OperationManager."
    }
  }

  /// The part of the sentence about an error; nil for an error that has lines of its own.
  private static func describe(_ error: (any Error)?) -> String? {
    guard let error, !(error is any ErrorWithReport) else { return nil }
    return ErrorReport.sentence(of: error)
  }
}

extension ManagedTaskError: LocalizedError, CustomStringConvertible {
  /// A sentence: what happened to which task, and what to do.
  ///
  /// Failures of the cause stand below it. At most about 16 KB.
  public var description: String { ErrorReport.text(of: self) }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
