public import CompositeOperations

/// A closure as a step.
///
/// `then` makes one of a closure. Write `Transform` to give the closure a name, a queue, a weight
/// and so on:
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
  /// - Parameter transform: makes the value, in a task of its own on the cooperative pool, which is
  ///   cancelled when the pipeline is.
  @_disfavoredOverload
  public init(_ transform: @escaping @Sendable (Input) async throws -> Output) {
    requireValue(Output.self, of: "Transform")
    make = { input in AsyncOperation { try await transform(input) } }
  }

  /// Makes a step of an async closure that reports its progress, which is part of that of the
  /// pipeline.
  ///
  /// Traps if `Output` is an `Operation`: it would never run.
  ///
  /// - Parameter transform: makes the value, in a task of its own on the cooperative pool, and
  ///   reports to `progress`.
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
      // An operation of another type becomes a simple one by being composed.
      return operation as? SimpleOperation<Output> ?? operation.map { $0 }
    }
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for input: Input) throws -> SimpleOperation<Output> {
    try make(input)
  }
}

/// Adding steps.
///
/// All four forms are called `then`, for each says what comes next. In the core `then` takes a
/// closure that makes an operation, and `map` one that makes a value. In a pipeline both are steps.
/// A closure returns a value, awaits a value, or returns an operation, and the compiler tells these
/// apart. A value that is an operation traps, for it would never run.
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

  /// Adds a closure that makes a value as the next step.
  ///
  /// ```swift
  /// let titles = Pipeline(LoadFile()).then(DecodeJSON([Book].self)).then { $0.map(\.title) }
  /// ```
  ///
  /// Traps if the value is an operation: it would never run.
  ///
  /// - Parameter transform: makes the value, as the work of an operation: in a slot of the
  ///   surrounding queue, or of the queue of ``on(_:)``, else on a worker. What it throws is the
  ///   failure of the step; `CancellationError` cancels.
  public func then<T: Sendable>(_ transform: @escaping @Sendable (Output) throws -> T) -> Pipeline<Input, T> {
    then(Transform(transform))
  }

  /// Adds an async closure that makes a value as the next step.
  ///
  /// ```swift
  /// let users = Pipeline(ReadNames()).then { name in try await directory.user(named: name) }
  /// ```
  ///
  /// Traps if the value is an operation: it would never run.
  ///
  /// - Parameter transform: makes the value, as the work of an `AsyncOperation`: in a task of its
  ///   own, on the cooperative pool, which is cancelled when the pipeline is. What it throws is the
  ///   failure of the step; `CancellationError` cancels.
  @_disfavoredOverload
  public func then<T: Sendable>(_ transform: @escaping @Sendable (Output) async throws -> T) -> Pipeline<Input, T> {
    then(Transform(transform))
  }

  /// Adds a closure that makes an operation as the next step. The operation then runs.
  ///
  /// ```swift
  /// let photos = Pipeline(LoadUser()).then { user in FetchPhotos(of: user) }
  /// ```
  ///
  /// - Parameter makeOperation: makes the operation: see ``operation(for:)``. What it throws is the
  ///   failure of the step; `CancellationError` cancels.
  public func then<O: ComposableOperation>(
    _ makeOperation: @escaping @Sendable (Output) throws -> O
  ) -> Pipeline<Input, O.Value> {
    then(Transform<Output, O.Value>(makingOperation: makeOperation))
  }
}
