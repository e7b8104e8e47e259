import Foundation

extension CompositeError {
  /// - Parameters:
  ///   - failures: in any order; never empty.
  ///   - operations: the children, all of which are done.
  ///   - name: the composite's.
  init(_ failures: [ListEndings.Failure], of operations: [Operation], in name: String?) {
    let failures = failures.sorted { $0.index < $1.index }
    // A refused child need not have finished, and may still end in any way elsewhere.
    var outcomes = operations.map { $0.anyOutcome ?? .cancelled }
    for failure in failures { outcomes[failure.index] = .failure(failure.error) }
    self.init(
      failures: failures.map {
        Failure(index: $0.index, operationName: operations[$0.index].name, error: $0.error)
      }, outcomes: outcomes, of: name)
  }
}
