public import CompositeOperations

/// A step that does something with what flows, and lets it pass as it is.
///
/// ```swift
/// let load = Pipeline(LoadFile()).then(Tee { data in print("\(data.count) bytes") })
/// ```
///
/// What goes wrong on the side is a failure of the step. Where that is not to matter, catch it in the closure, or `recover`
/// in the operation.
public struct Tee<Value: Sendable>: PipelineStep {
  private let make: @Sendable (Value) throws -> SimpleOperation<Value>

  /// Makes a step of a closure.
  ///
  /// - Parameter effect: what is done, as the work of an operation. What it throws is the failure of the step;
  ///   `CancellationError` cancels.
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
  /// - Parameter effect: what is done, in a task of its own on the cooperative pool, which is cancelled when the pipeline is.
  ///   What flows goes on when it has returned.
  @_disfavoredOverload
  public init(_ effect: @escaping @Sendable (Value) async throws -> Void) {
    make = { value in
      AsyncOperation {
        try await effect(value)
        return value
      }
    }
  }

  /// Makes a step of another step, a pipeline for example. What that gives is dropped.
  ///
  /// ```swift
  /// let save = Pipeline(EncodeJSON<Report>()).then(WriteFile(to: file))
  /// let both = makeReport.then(Tee(save)).then { report in report.title }
  /// ```
  ///
  /// - Parameter step: what is run. What flows goes on when it has ended.
  public init<Ignored>(_ step: some PipelineStep<Value, Ignored>) {
    make = { value in try step.operation(for: value).map { _ in value } }
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for value: Value) throws -> SimpleOperation<Value> {
    try make(value)
  }
}
