public import CompositeOperations

/// A step that does something on the side, and passes its input on.
///
/// ```swift
/// let load = Pipeline(LoadFile()).then(Tee { data in print("\(data.count) bytes") })
/// ```
///
/// An error on the side is a failure of the step. To go on in spite of it, catch it in the closure,
/// or `recover` in the operation.
public struct Tee<Value: Sendable>: PipelineStep {
  private let make: @Sendable (Value) throws -> SimpleOperation<Value>

  /// Makes a step of a closure.
  ///
  /// - Parameter effect: called as the work of an operation. What it throws is the failure of the
  ///   step; `CancellationError` cancels.
  public init(_ effect: @escaping @Sendable (Value) throws -> Void) {
    make = { value in
      SimpleOperation { operation in
        do {
          try effect(value)
          operation.finish(with: value)
        } catch {
          operation.reject(with: error)
        }
      }
    }
  }

  /// Makes a step of an async closure.
  ///
  /// - Parameter effect: called in a task of its own on the cooperative pool, which is cancelled
  ///   when the pipeline is. The pipeline goes on when it has returned.
  @_disfavoredOverload
  public init(_ effect: @escaping @Sendable (Value) async throws -> Void) {
    make = { value in
      AsyncOperation {
        try await effect(value)
        return value
      }
    }
  }

  /// Makes a step of another step, such as a pipeline, whose result is discarded.
  ///
  /// ```swift
  /// let save = Pipeline(EncodeJSON<Report>()).then(WriteFile(to: file))
  /// let both = makeReport.then(Tee(save)).then { report in report.title }
  /// ```
  ///
  /// - Parameter step: the step to run. The pipeline goes on when it has ended.
  public init<Ignored>(_ step: some PipelineStep<Value, Ignored>) {
    make = { value in try step.operation(for: value).map { _ in value } }
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for value: Value) throws -> SimpleOperation<Value> {
    try make(value)
  }
}
