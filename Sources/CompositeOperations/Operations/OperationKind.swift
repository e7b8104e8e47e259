/// What an operation is: one unit of work, or a kind of composition.
///
/// More kinds may come, so this is not an enumeration.
public struct OperationKind: RawRepresentable, Sendable, Hashable, Codable {
  /// The kind in a word.
  public let rawValue: String

  /// Makes a kind.
  ///
  /// - Parameter rawValue: the kind in a word, as it is shown.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// One unit of work.
  public static let operation = OperationKind(rawValue: "operation")
  /// One unit of work of a type that has no outcome, such as `BlockOperation`.
  public static let plain = OperationKind(rawValue: "plain")
  /// A ``CompositeOperation`` whose children run in parallel.
  public static let parallel = OperationKind(rawValue: "parallel")
  /// A ``CompositeOperation`` whose children run one after the other.
  public static let sequence = OperationKind(rawValue: "sequence")
  /// A graph of tasks, such as a workflow.
  public static let graph = OperationKind(rawValue: "graph")
  /// ``ComposableOperation/then(_:)``.
  public static let then = OperationKind(rawValue: "then")
  /// ``ComposableOperation/map(_:)``.
  public static let map = OperationKind(rawValue: "map")
  /// ``ComposableOperation/mapAsync(_:)``.
  public static let mapAsync = OperationKind(rawValue: "mapAsync")
  /// ``ComposableOperation/recover(_:)``.
  public static let recover = OperationKind(rawValue: "recover")
  /// ``ComposableOperation/settled()``.
  public static let settled = OperationKind(rawValue: "settled")
  /// A pipeline, whose steps run one after the other.
  public static let pipeline = OperationKind(rawValue: "pipeline")
  /// ``zip(_:)``.
  public static let zip = OperationKind(rawValue: "zip")
  /// ``all(_:maxConcurrent:)``.
  public static let all = OperationKind(rawValue: "all")
  /// ``allSettled(_:maxConcurrent:)``.
  public static let allSettled = OperationKind(rawValue: "allSettled")
  /// ``firstSuccess(of:)``.
  public static let firstSuccess = OperationKind(rawValue: "firstSuccess")
  /// ``forEach(_:maxConcurrent:_:)``.
  public static let forEach = OperationKind(rawValue: "forEach")

  /// ``ComposableOperation/timeout(_:_:clock:)`` and ``ComposableOperation/deadline(_:clock:_:)``.
  public static let timeout = OperationKind(rawValue: "timeout")
  /// `retrying`, in any of its forms.
  public static let retry = OperationKind(rawValue: "retry")
  /// ``repeating(every:clock:maxRounds:until:_:)``.
  public static let repeating = OperationKind(rawValue: "repeating")
  /// ``ComposableOperation/condition(_:)``.
  public static let condition = OperationKind(rawValue: "condition")
  /// `exclusive`, in any of its forms.
  public static let exclusive = OperationKind(rawValue: "exclusive")
  /// ``ComposableOperation/limited(by:weight:)``.
  public static let limited = OperationKind(rawValue: "limited")

  /// A part of a policy without work of its own: it waits for a dependency, a category, a limit or
  /// a time, evaluates conditions, or decides about another attempt.
  public static let wait = OperationKind(rawValue: "wait")

  /// The operations that run before conditions are evaluated.
  package static let prerequisites = OperationKind(rawValue: "prerequisites")

  /// The kind as it is shown.
  package var title: String { rawValue }
}
