import Foundation

extension CompositeError {
  /// - Parameters:
  ///   - failures: in any order; never empty.
  ///   - operations: the children, all of which are done.
  ///   - name: the composite's.
  init(_ failures: [ParallelState.Failure], of operations: [Operation], in name: String?) {
    let failures = failures.sorted { $0.tag < $1.tag }
    // A refused child need not have finished, and may still end in any way elsewhere.
    var outcomes = operations.map { $0.anyOutcome ?? .cancelled }
    for failure in failures { outcomes[failure.tag] = .failure(failure.error) }
    self.init(
      failures: failures.map {
        Failure(index: $0.tag, operationName: operations[$0.tag].name, error: $0.error)
      }, outcomes: outcomes, of: name)
  }
}
