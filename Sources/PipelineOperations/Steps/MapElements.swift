public import CompositeOperations

/// A step that runs a step or closure for each element of an array, several at the same time.
///
/// It gives an array of the results, in the order of the elements.
///
/// ```swift
/// let pictures = Pipeline(ReadList()).then(MapElements(maxConcurrent: 4, LoadURL()))
/// ```
///
/// It makes operations when they can run, so only as many exist as run, however long the array is.
/// When an operation fails, it makes no further ones, cancels those that run, and fails with the
/// first error. An empty array is a success.
public struct MapElements<Element: Sendable, Result: Sendable>: PipelineStep {
  private let maxConcurrent: Int
  private let make: @Sendable (Element) throws -> SimpleOperation<Result>

  /// Makes a step that runs another step, such as a pipeline, for each element.
  ///
  /// - Parameters:
  ///   - maxConcurrent: how many elements may be under way at the same time. Positive, or
  ///     `OperationQueue.defaultMaxConcurrentOperationCount` for no limit; anything else traps.
  ///   - step: the step to run for each element.
  public init(maxConcurrent: Int, _ step: some PipelineStep<Element, Result>) {
    self.maxConcurrent = maxConcurrent
    make = { element in try step.operation(for: element) }
    _ = requireWidth(maxConcurrent, of: "maxConcurrent of MapElements")
  }

  /// Makes a step that calls a closure for each element, as the work of an operation.
  ///
  /// Traps if the result is an operation: it would never run.
  ///
  /// - Parameters:
  ///   - maxConcurrent: how many elements may be under way at the same time; see the form with a
  ///     step.
  ///   - transform: called for each element, by several threads at once.
  public init(maxConcurrent: Int, _ transform: @escaping @Sendable (Element) throws -> Result) {
    self.init(maxConcurrent: maxConcurrent, Transform(transform))
  }

  /// Makes a step that calls an async closure for each element.
  ///
  /// Traps if the result is an operation: it would never run.
  ///
  /// - Parameters:
  ///   - maxConcurrent: how many elements may be under way at the same time; see the form with a
  ///     step.
  ///   - transform: called for each element, in a task of its own.
  @_disfavoredOverload
  public init(maxConcurrent: Int, _ transform: @escaping @Sendable (Element) async throws -> Result) {
    self.init(maxConcurrent: maxConcurrent, Transform(transform))
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for elements: [Element]) -> SimpleOperation<[Result]> {
    forEach(elements, maxConcurrent: maxConcurrent, make)
  }
}
