public import CompositeOperations

/// Steps after steps.
///
/// All four are called `then`, for all say what comes next. In the core `then` takes a closure that makes an operation and
/// `map` one that makes a value; in a pipeline everything is a step, and a closure one of three kinds, which the compiler
/// tells apart: it returns a value, awaits one, or returns an operation. A value that is an operation, which would never run,
/// traps.
extension PipelineStep {
  /// Runs another step after this one. Called on a pipeline, this adds the step at its end.
  ///
  /// A pipeline is a step, too: given to `then`, it becomes one step of the new pipeline.
  public func then<T>(_ step: some PipelineStep<Output, T>) -> Pipeline<Input, T> {
    let pipeline = Pipeline(self)
    var steps = pipeline.steps
    steps.append(StepBox(step))
    return Pipeline<Input, T>(steps: steps, name: pipeline.name)
  }

  /// A closure as the next step, that makes a value.
  ///
  /// ```swift
  /// let titles = Pipeline(LoadFile()).then(DecodeJSON([Book].self)).then { $0.map(\.title) }
  /// ```
  ///
  /// Traps if the value is an operation: it would never run.
  ///
  /// - Parameter transform: makes the value, as the work of an operation: in a slot of the surrounding queue, or that of
  ///   ``on(_:)``, else on a worker. What it throws is the failure of the step; `CancellationError` cancels.
  public func then<T: Sendable>(_ transform: @escaping @Sendable (Output) throws -> T) -> Pipeline<Input, T> {
    then(Transform(transform))
  }

  /// An async closure as the next step.
  ///
  /// ```swift
  /// let users = Pipeline(ReadNames()).then { name in try await directory.user(named: name) }
  /// ```
  ///
  /// Traps if the value is an operation: it would never run.
  ///
  /// - Parameter transform: makes the value, as the work of an `AsyncOperation`: in a task of its own, on the cooperative
  ///   pool, which is cancelled when the pipeline is. What it throws is the failure of the step; `CancellationError` cancels.
  @_disfavoredOverload
  public func then<T: Sendable>(_ transform: @escaping @Sendable (Output) async throws -> T) -> Pipeline<Input, T> {
    then(Transform(transform))
  }

  /// A closure as the next step, that makes an operation, which then runs.
  ///
  /// ```swift
  /// let photos = Pipeline(LoadUser()).then { user in FetchPhotos(of: user) }
  /// ```
  ///
  /// - Parameter makeOperation: makes the operation: see ``operation(for:)``. What it throws is the failure of the step;
  ///   `CancellationError` cancels.
  public func then<O: ComposableOperation>(
    _ makeOperation: @escaping @Sendable (Output) throws -> O
  ) -> Pipeline<Input, O.Value> {
    then(Transform<Output, O.Value>(makingOperation: makeOperation))
  }
}
