import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport

/// A step as users write it, that adds a number.
struct Add: PipelineStep {
  let number: Int

  init(_ number: Int) { self.number = number }

  func operation(for input: Int) -> SimpleOperation<Int> {
    SimpleOperation { [number] in $0.finish(with: input + number) }
  }
}

/// A step whose operations the test settles, and can wait for.
final class HeldStep<Value: Sendable>: PipelineStep {
  private let made = EventRecorder<Int>()
  private let operations = Locked<[HeldOperation<Value>]>([])
  private let settlesWhenCancelled: Bool
  let stepName: String

  init(_ name: String = "HeldStep", of type: Value.Type = Int.self, settlesWhenCancelled: Bool = true) {
    stepName = name
    self.settlesWhenCancelled = settlesWhenCancelled
  }

  func operation(for input: Value) -> SimpleOperation<Value> {
    let operation = HeldOperation<Value>(settlesWhenCancelled: settlesWhenCancelled)
    let number = operations.withLock { operations in
      operations.append(operation)
      return operations.count
    }
    made.record(number)
    return operation
  }

  var count: Int { operations.withLock { $0.count } }

  /// The operation of a run, from 1, when it has started.
  func started(_ number: Int = 1) async -> HeldOperation<Value> {
    await made.wait(for: number)
    let operation = operations.withLock { $0[number - 1] }
    await operation.started.wait()
    return operation
  }
}

/// Whether the caller runs on the main queue. Under the test runner that need not be the main
/// thread.
func isOnMainQueue() -> Bool {
  OperationQueue.current === OperationQueue.main
}

extension Outcome {
  /// The error of a pipeline, if it is one.
  var stepError: PipelineStepError? { error as? PipelineStepError }
}

/// The outcome of one run.
func outcome<Input, Output>(
  of step: some PipelineStep<Input, Output>, for input: Input
) async throws -> Outcome<Output> {
  let operation = try step.operation(for: input)
  _ = try? await operation.run()
  return operation.outcome ?? .cancelled
}
