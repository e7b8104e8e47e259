extension Timeline {
  /// What an operation is: one unit of work, or a kind of composition.
  ///
  /// More kinds may come, so this is not an enumeration.
  public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// The kind in a word, as it is shown.
    public let rawValue: String

    /// Makes a kind.
    ///
    /// - Parameter rawValue: the kind in a word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// One unit of work.
    public static let operation = Kind(rawValue: "operation")
    /// One unit of work of a type that has no outcome, such as `BlockOperation`.
    public static let plain = Kind(rawValue: "plain")
    /// A `CompositeOperation` whose children run in parallel.
    public static let parallel = Kind(rawValue: "parallel")
    /// A `CompositeOperation` whose children run one after the other.
    public static let sequence = Kind(rawValue: "sequence")
    /// A graph of tasks, such as a workflow.
    public static let graph = Kind(rawValue: "graph")
    /// What `then` returns.
    public static let then = Kind(rawValue: "then")
    /// What `map` returns.
    public static let map = Kind(rawValue: "map")
    /// What `mapAsync` returns.
    public static let mapAsync = Kind(rawValue: "mapAsync")
    /// What `recover` returns.
    public static let recover = Kind(rawValue: "recover")
    /// What `settled` returns.
    public static let settled = Kind(rawValue: "settled")
    /// What `asSimpleOperation` returns.
    public static let asSimpleOperation = Kind(rawValue: "asSimpleOperation")
    /// A pipeline, whose steps run one after the other.
    public static let pipeline = Kind(rawValue: "pipeline")
    /// What `zip` returns.
    public static let zip = Kind(rawValue: "zip")
    /// What `all` returns.
    public static let all = Kind(rawValue: "all")
    /// What `allSettled` returns.
    public static let allSettled = Kind(rawValue: "allSettled")
    /// What `firstSuccess` returns.
    public static let firstSuccess = Kind(rawValue: "firstSuccess")
    /// What `forEach` returns.
    public static let forEach = Kind(rawValue: "forEach")
    /// What `timeout` and `deadline` return.
    public static let timeout = Kind(rawValue: "timeout")
    /// What `retrying` returns.
    public static let retry = Kind(rawValue: "retry")
    /// What `repeating` returns.
    public static let repeating = Kind(rawValue: "repeating")
    /// What `hedged` returns.
    public static let hedged = Kind(rawValue: "hedged")
    /// What `condition` returns.
    public static let condition = Kind(rawValue: "condition")
    /// What `exclusive` returns.
    public static let exclusive = Kind(rawValue: "exclusive")
    /// What `limited` returns.
    public static let limited = Kind(rawValue: "limited")
    /// What `guarded` returns.
    public static let guarded = Kind(rawValue: "guarded")
    /// A part of a policy without work of its own: it waits for a dependency, a category, a limit
    /// or a time, evaluates conditions, or decides about another attempt.
    public static let wait = Kind(rawValue: "wait")
    /// The operations that run before conditions are evaluated.
    static let prerequisites = Kind(rawValue: "prerequisites")

    // MARK: - For drawings

    /// Whether an entry of this kind without children is work.
    var isWork: Bool { !isWrapper && self != .wait }

    /// Whether it is one unit, not a composition.
    var isUnit: Bool { self == .operation || self == .plain || self == .wait }

    /// Whether its children start one after another by design, so that drawings join them with
    /// arrows.
    var isOrdered: Bool {
      switch self {
      case .sequence, .then, .map, .mapAsync, .recover, .settled, .pipeline, .retry, .repeating, .condition,
        .exclusive, .limited, .guarded:
        true
      default: false
      }
    }

    /// Whether it stands for the work of others: what it was made from, or what it continues with.
    var isWrapper: Bool {
      switch self {
      case .then, .map, .mapAsync, .recover, .settled, .asSimpleOperation, .timeout, .retry, .repeating, .hedged,
        .condition,
        .exclusive, .limited, .guarded, .prerequisites:
        true
      default: false
      }
    }
  }
}
