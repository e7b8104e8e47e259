/// What the state knows of a task, as it was added: never changed afterwards. The one subclass is `TaskPlan`, which also says how
/// it runs.
class AnyTaskPlan: @unchecked Sendable {  // only constants, in the subclass too
  enum Kind: Sendable {
    /// An operation is made for each attempt.
    case body
    /// Nothing to run: the task waits until it is told its result.
    case condition
    /// Another workflow, whose run is the attempt.
    case subworkflow
  }

  /// The given name; nil for a task that is known by its place.
  final let name: String?
  final let kind: Kind
  /// The places of the prerequisites, in the order in which they were given, those with a key first. One that was given
  /// more than once is here as often.
  final let prerequisites: [Int]
  /// The keys of the first prerequisites.
  final let keys: [String]
  final let requiredKeys: Set<String>

  init(name: String?, kind: Kind, prerequisites: [Int], keys: [String], requiredKeys: Set<String>) {
    self.name = name
    self.kind = kind
    self.prerequisites = prerequisites
    self.keys = keys
    self.requiredKeys = requiredKeys
  }

  final var isCondition: Bool { kind == .condition }
  final var isSubworkflow: Bool { kind == .subworkflow }
}
