import Foundation

/// Runs an operation if a condition holds: the engine of `condition`.
final class ConditionSource: GuardSource, @unchecked Sendable {  // only the thread that asks or ends touches the fields
  private enum Stage {
    case new, preparing, evaluating
  }

  private var stage = Stage.new
  private var condition: Condition?
  private var context: ConditionContext?
  /// The value if the condition does not hold; nil if that is a failure.
  private let substitute: (any Sendable)?

  init(_ guarded: Operation, _ condition: Condition, otherwise substitute: (any Sendable)? = nil) {
    self.condition = condition
    self.substitute = substitute
    super.init(guarded)
  }

  override func nextGuard(for guarded: Operation, after previous: Operation?) -> Step? {
    switch stage {
    case .new:
      guard let condition else { return nil }
      let context = ConditionContext(operation: guarded, dependencies: dependencies)
      self.context = context
      stage = .preparing
      let prerequisites = condition.prerequisites(context)
      guard !prerequisites.isEmpty else { return evaluate(for: guarded) }
      Prerequisites.requireIndependence(of: prerequisites, from: guarded)
      return run(Prerequisites.operation(running: prerequisites), for: guarded)
    case .preparing:
      if previous?.isCancelled == true { return .settle(.cancelled) }
      return evaluate(for: guarded)
    case .evaluating:
      if case .success = previous?.anyOutcome { return nil }
      if let substitute, previous?.failure != nil { return .settle(.success, value: substitute) }
      return previous.map { .settleLike($0) }
    }
  }

  private func evaluate(for guarded: Operation) -> Step? {
    guard let context = context.take(), let condition = condition.take() else { return nil }
    stage = .evaluating
    return run(ConditionEvaluation(condition, context, of: ownerName, isLeftAlone: !isOurs), for: guarded)
  }

  /// Runs a preparation. Cancels it when the guarded operation is cancelled, or settled by other
  /// code, because the preparation is then no longer needed.
  private func run(_ preparation: SettlingOperation, for guarded: Operation) -> Step {
    // The operation keeps the preparation until it starts or is decided.
    if isOurs { (guarded as? SettlingOperation)?.setWhenDecidedUnstarted { preparation.cancel() } }
    return .run(preparation)
  }

  override var kind: OperationKind { .condition }

  override func guardIsOver(as ending: OperationState.Ending, error: (any Error)?) {
    condition = nil
    context = nil
  }
}

/// Evaluates a condition in a task. Fails with a ``ConditionError`` if the condition does not hold.
private final class ConditionEvaluation: TaskGate, @unchecked Sendable {  // see the fields
  // Only the task uses it, or the one caller that settles the operation unstarted.
  private var question: (condition: Condition, context: ConditionContext)?
  private let ownerName: String?
  private let conditionName: String
  private let isLeftAlone: Bool

  /// - Parameters:
  ///   - name: the name of the operation that the condition belongs to.
  ///   - isLeftAlone: whether other code has started the operation.
  init(_ condition: Condition, _ context: ConditionContext, of name: String?, isLeftAlone: Bool) {
    ownerName = name
    self.isLeftAlone = isLeftAlone
    conditionName = condition.name
    question = (condition, context)
    super.init(priority: nil)
  }

  override var purpose: String { "evaluates \(GateOperation.list([conditionName]))" }

  override func work() async throws {
    guard let (condition, context) = question.take() else { throw CancellationError() }
    let failures = try await ConditionError.failures(of: condition, context)
    if failures.isEmpty { return }
    var error = ConditionError(failures: failures)
    error.operationDescription = OperationError.describe(context.operation, orNamed: ownerName)
    error.isLeftAlone = isLeftAlone
    throw error
  }

  override func discardWork() {
    question = nil
  }
}

/// The operations that run before conditions are evaluated.
enum Prerequisites {
  /// Returns an operation that runs all of them in parallel, whatever their outcomes.
  static func operation(running operations: [Operation]) -> SimpleOperation<Void> {
    ComposedOperation(GatheringSource(operations, as: .prerequisites, policy: .settleAll) { _, _ in () })
  }

  static func requireIndependence(of prerequisites: [Operation], from operation: Operation) {
    require(
      !prerequisites.contains { $0 === operation },
      "A condition of \(OperationError.describe(operation)) returned that operation as its own prerequisite, so it "
        + "could never run. Return another operation, or nil.")
  }
}
