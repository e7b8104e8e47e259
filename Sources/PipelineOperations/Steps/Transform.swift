public import CompositeOperations

/// A closure as a step.
///
/// `then` makes it of a closure; by its own name it can be given a name, a queue, a weight and so on:
///
/// ```swift
/// let report = Pipeline(LoadFile())
///   .then(Transform { data in String(decoding: data, as: UTF8.self) }.named("text"))
///   .then(Transform { text in show(text) }.named("show").on(.main))
/// ```
public struct Transform<Input: Sendable, Output: Sendable>: PipelineStep {
  private let make: @Sendable (Input) throws -> SimpleOperation<Output>

  /// Makes a step of a closure that makes a value.
  ///
  /// Traps if `Output` is an `Operation`: it would never run. Use ``init(makingOperation:)``.
  ///
  /// - Parameter transform: makes the value, as the work of an operation; see `then`.
  public init(_ transform: @escaping @Sendable (Input) throws -> Output) {
    requireValue(Output.self, of: "Transform")
    make = { input in
      SimpleOperation { operation in
        do {
          operation.finish(with: try transform(input))
        } catch {
          operation.reject(with: error)
        }
      }
    }
  }

  /// Makes a step of an async closure.
  ///
  /// Traps if `Output` is an `Operation`: it would never run. Use ``init(makingOperation:)``.
  ///
  /// - Parameter transform: makes the value, in a task of its own on the cooperative pool, which is cancelled when the
  ///   pipeline is.
  @_disfavoredOverload
  public init(_ transform: @escaping @Sendable (Input) async throws -> Output) {
    requireValue(Output.self, of: "Transform")
    make = { input in AsyncOperation { try await transform(input) } }
  }

  /// Makes a step of an async closure that tells how it gets on, which shows in the progress of the pipeline.
  ///
  /// Traps if `Output` is an `Operation`: it would never run.
  ///
  /// - Parameter transform: makes the value, in a task of its own on the cooperative pool, and gets what it reports its
  ///   progress to.
  public init(reporting transform: @escaping @Sendable (Input, _ progress: ProgressReporter) async throws -> Output) {
    requireValue(Output.self, of: "Transform")
    make = { input in AsyncOperation(reporting: { progress in try await transform(input, progress) }) }
  }

  /// Makes a step of a closure that makes an operation, which then runs.
  ///
  /// - Parameter makeOperation: makes the operation: see ``PipelineStep/operation(for:)``.
  public init<O: ComposableOperation>(
    makingOperation makeOperation: @escaping @Sendable (Input) throws -> O
  ) where O.Value == Output {
    make = { input in
      let operation = try makeOperation(input)
      // Other types that compositions can run become one by being composed.
      return operation as? SimpleOperation<Output> ?? operation.map { $0 }
    }
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for input: Input) throws -> SimpleOperation<Output> {
    try make(input)
  }
}
