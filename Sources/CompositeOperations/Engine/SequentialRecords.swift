import Foundation

/// The outcomes of the children of a sequence. As long as all succeed it holds their values only,
/// which takes a third of the memory.
struct SequentialRecords {
  /// The values of the children that succeeded, in order.
  private(set) var values: [any Sendable] = []
  private(set) var failures: [CompositeError.Failure] = []
  /// The outcome of the last child.
  private(set) var last = OperationState.Ending.none
  private var allOutcomes: [Outcome<any Sendable>]?

  /// Releases everything when the composition is deinitialized.
  mutating func release() {
    allOutcomes = nil
    NestedResults.release(&values)
  }

  var outcomes: [Outcome<any Sendable>] { allOutcomes ?? values.map { .success($0) } }

  /// One succeeded.
  @inline(__always)
  mutating func append(_ value: any Sendable) {
    allOutcomes?.append(.success(value))
    values.append(value)
    last = .success
  }

  mutating func append(_ outcome: Outcome<any Sendable>, index: Int, name: String?) {
    if let value = outcome.value { return append(value) }
    last = .cancelled
    if let error = outcome.error {
      failures.append(CompositeError.Failure(index: index, operationName: name, error: error))
      last = .failure
    }
    // From the first unsuccessful child on, records outcomes as well as values.
    if allOutcomes == nil { allOutcomes = outcomes }
    allOutcomes?.append(outcome)
  }
}
