/// What the state knows of a task, as it was added; it never changes. The one subclass is
/// `TaskPlan`, which also says how the task runs.
class AnyTaskPlan: @unchecked Sendable {  // only constants, in the subclass too
  /// The given name; nil for a task that is known by its place.
  final let name: String?
  /// Whether there is no operation: the task waits to be told its result.
  final let isCondition: Bool
  /// Whether its work is another workflow, whose run is the attempt.
  final let isSubworkflow: Bool
  /// The places of the prerequisites, in the order in which they were given, those with a key
  /// first. A prerequisite that was given more than once is here as often.
  final let prerequisites: [Int]
  /// The keys of the first prerequisites.
  final let keys: [String]
  /// The keys that the task requires.
  final let requiredKeys: Set<String>

  init(
    name: String?, isCondition: Bool, isSubworkflow: Bool, prerequisites: [Int], keys: [String],
    requiredKeys: Set<String>
  ) {
    self.name = name
    self.isCondition = isCondition
    self.isSubworkflow = isSubworkflow
    self.prerequisites = prerequisites
    self.keys = keys
    self.requiredKeys = requiredKeys
  }

  /// The name of the task at this place.
  final func name(at place: Int) -> String { name ?? TaskNames.automatic(place) }
}

/// The names of tasks that were added without one.
enum TaskNames {
  static func automatic(_ index: Int) -> String { "task \(index + 1)" }

  /// The place of the task that would have this name if it had none of its own.
  static func place(of name: some StringProtocol) -> Int? {
    guard name.hasPrefix("task "), let number = Int(name.dropFirst(5)), number > 0 else { return nil }
    return automatic(number - 1) == name ? number - 1 : nil
  }
}
