import Foundation

/// The guard of `condition`: an operation runs if a condition holds.
struct ConditionGuard: OperationGuard {
  private enum Stage {
    case new, preparing, evaluating
  }

  private var stage = Stage.new
  /// Has all that is needed, so that the guard is small.
  private let evaluation: ConditionEvaluation

  init(_ condition: Condition, otherwise substitute: (any Sendable)? = nil) {
    evaluation = ConditionEvaluation(condition, otherwise: substitute)
  }

  var kind: OperationKind { .condition }

  mutating func next(_ turn: GuardTurn, after previous: Operation?) -> Composition.Made? {
    switch stage {
    case .new:
      stage = .preparing
      let prerequisites = evaluation.prepare(turn)
      guard !prerequisites.isEmpty else { return evaluate(turn) }
      Prerequisites.requireIndependence(of: prerequisites, from: turn.guarded)
      return run(Prerequisites.operation(running: prerequisites), turn)
    case .preparing:
      if previous?.isCancelled == true { return .settle(.cancelled) }
      return evaluate(turn)
    case .evaluating:
      if case .success = previous?.anyOutcome { return nil }
      if let substitute = evaluation.substitute, previous?.failure != nil { return .settle(.success(substitute)) }
      return previous.map { .settleLike($0) }
    }
  }

  private mutating func evaluate(_ turn: GuardTurn) -> Composition.Made? {
    stage = .evaluating
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
    evaluation.discardWork()
  }
}

/// Evaluates a condition in a task. Fails with a ``ConditionError`` if the condition does not hold.
private final class ConditionEvaluation: TaskGate, @unchecked Sendable {  // see the fields
  /// The value if the condition does not hold; nil if that is a failure.
  let substitute: (any Sendable)?
  private let conditionName: String
  // The striped lock guards the rest.
  private var condition: Condition?
  private var situation: ConditionContext?
  private var ownerName: String?
  private var isLeftAlone = false

  init(_ condition: Condition, otherwise substitute: (any Sendable)?) {
    self.condition = condition
    self.substitute = substitute
    conditionName = condition.name
    super.init(priority: nil)
  }

  /// Notes what the condition is for. Returns the operations that run before the evaluation.
  func prepare(_ turn: GuardTurn) -> [Operation] {
    let context = ConditionContext(operation: turn.guarded, dependencies: turn.composition.dependencies)
    let name = turn.ownerName
    let condition: Condition? = StripedLock.withLock(of: self) {
      // A copy of the guard may have been here.
      guard situation == nil else { return nil }
      (situation, ownerName, isLeftAlone) = (context, name, !turn.isOurs)
      return self.condition
    }
    return condition?.prerequisites(context) ?? []
  }

  override var purpose: String { "evaluates \(GateOperation.list([conditionName]))" }

  override func work() async throws {
    let (condition, context) = takeQuestion()
    guard let condition, let context else { throw CancellationError() }
    let failures = try await ConditionError.failures(of: condition, context)
    if failures.isEmpty { return }
    var error = ConditionError(failures: failures)
    error.operationDescription = OperationError.describe(context.operation, orNamed: ownerName)
    error.isLeftAlone = isLeftAlone
    throw error
  }

  private func takeQuestion() -> (Condition?, ConditionContext?) {
    StripedLock.withLock(of: self) { (condition.take(), situation) }
  }

  override func discardWork() {
    let question = takeQuestion()
    let context = StripedLock.withLock(of: self) { situation.take() }
    // Released outside the lock.
    withExtendedLifetime((question, context)) {}
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
