import Foundation

/// The guard of `condition`: an operation runs if a condition holds.
struct ConditionGuard: OperationGuard {
  private enum Stage {
    case new, preparing, evaluating
  }

  private var stage = Stage.new
  private var condition: Condition?
  private var context: ConditionContext?
  /// The value if the condition does not hold; nil if that is a failure.
  private let substitute: (any Sendable)?

  init(_ condition: Condition, otherwise substitute: (any Sendable)? = nil) {
    self.condition = condition
    self.substitute = substitute
  }

  var kind: OperationKind { .condition }

  mutating func next(_ turn: GuardTurn, after previous: Operation?) -> Composition.Made? {
    switch stage {
    case .new:
      guard let condition else { return nil }
      let context = ConditionContext(operation: turn.guarded, dependencies: turn.composition.dependencies)
      self.context = context
      stage = .preparing
      let prerequisites = condition.prerequisites(context)
      guard !prerequisites.isEmpty else { return evaluate(turn) }
      Prerequisites.requireIndependence(of: prerequisites, from: turn.guarded)
      return run(Prerequisites.operation(running: prerequisites), turn)
    case .preparing:
      if previous?.isCancelled == true { return .settle(.cancelled) }
      return evaluate(turn)
    case .evaluating:
      if case .success = previous?.anyOutcome { return nil }
      if let substitute, previous?.failure != nil { return .settle(.success(substitute)) }
      return previous.map { .settleLike($0) }
    }
  }

  private mutating func evaluate(_ turn: GuardTurn) -> Composition.Made? {
    guard let context = context.take(), let condition = condition.take() else { return nil }
    stage = .evaluating
    let evaluation = ConditionEvaluation(condition, context, of: turn.ownerName, isLeftAlone: !turn.isOurs)
    return run(evaluation, turn)
  }

  /// Runs a preparation. Cancels it when the guarded operation is cancelled, or settled by other
  /// code, because the preparation is then no longer needed.
  private func run(_ preparation: SettlingOperation, _ turn: GuardTurn) -> Composition.Made {
    // The operation keeps the preparation until it starts or is decided.
    turn.whenPointless { preparation.cancel() }
    return .run(preparation)
  }

  mutating func isOver(in composition: Composition, _ verdict: Verdict) {
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
    ComposedOperation(GatherForm(operations, as: .prerequisites, policy: .settleAll) { _, _ in () })
  }

  static func requireIndependence(of prerequisites: [Operation], from operation: Operation) {
    require(
      !prerequisites.contains { $0 === operation },
      "A condition of \(OperationError.describe(operation)) returned that operation as its own prerequisite, so it "
        + "could never run. Return another operation, or nil.")
  }
}
