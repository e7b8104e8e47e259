import Foundation
import Synchronization

/// The engine of a parallel ``CompositeOperation``.
final class ParallelCompositeSource: ParallelSource, @unchecked Sendable {  // see the superclass
  override func conclude(_ verdict: ParallelState.Verdict) {
    switch verdict {
    case .success:
      settleOwner(as: .success, value: operations.map(Self.value))
    case .failure(let failures):
      settleOwner(as: .failure, error: CompositeError(failures, of: operations, in: ownerName))
    case .cancelled, .winner:
      settleOwner(as: .cancelled)
    }
  }

  private static func value(of child: Operation) -> any Sendable {
    if child.isOwn { return child.asOwn.storedValue }
    return type(of: child) == BlockOperation.self ? () : child.anyOutcome?.value ?? ()
  }
}

/// The engine of a sequential ``CompositeOperation``.
final class SequentialCompositeSource: SequentialSource, @unchecked Sendable {  // see the field
  // Only the asking thread uses it.
  @exclusivity(unchecked) private var sequence: (any CompositeOperation.Sequence)?
  /// How many operations the delegate expects; -1 if unknown.
  private let expectedCount = Atomic(-1)

  private let retries: Bool

  init(_ sequence: sending any CompositeOperation.Sequence) {
    retries = sequence is any SequenceOfAttempts
    self.sequence = sequence
    super.init(records: SequentialRecords(), joins: false)
  }

  deinit {
    ReleaseList.release(&sequence)
  }

  /// Releases the values of the children when the composite is deinitialized.
  func releaseRecords() {
    var records = state.withLock { $0.records.take() }
    records?.release()
  }

  override func attempt(of tag: Int) -> Int { retries ? tag : 1 }

  /// The outcomes of the children so far; nil for the current one.
  var outcomes: [Outcome<any Sendable>?] {
    state.withLock { state in
      let outcomes = state.records?.outcomes ?? []
      return outcomes + [Outcome<any Sendable>?](repeating: nil, count: state.count - outcomes.count)
    }
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    do {
      // A child that a queue holds has not ended, and the composite fails.
      if refusal(of: count)?.code != .alreadyInUse, let next = try sequence?.nextOperation(after: previous) {
        if count == 0 || !monitors.isEmpty { updateExpectedCount() }
        if let error = next.refusalAsNextOperation { return failure(adding: error, index: count, name: next.name) }
        return .run(next)
      }
    } catch is CancellationError {
      return .settle(.cancelled)
    } catch {
      return failure(adding: error, index: count, name: nil)
    }
    let records = state.withLock { $0.records ?? SequentialRecords() }
    switch records.last {
    case .none, .success: return .settle(.success, value: records.values)
    case .failure:
      return .settle(
        .failure, error: CompositeError(failures: records.failures, outcomes: records.outcomes, of: ownerName))
    case .cancelled: return .settle(.cancelled)
    }
  }

  // Out of line: a step of a long sequence costs little more than the delegate's call.
  @inline(never)
  private func updateExpectedCount() {
    expectedCount.store(sequence?.expectedCount ?? -1, ordering: .relaxed)
  }

  private func failure(adding error: any Error, index: Int, name: String?) -> Step {
    let records = state.withLock { $0.records ?? SequentialRecords() }
    let last = CompositeError.Failure(index: index, operationName: name, error: error)
    return .settle(
      .failure, error: CompositeError(failures: records.failures + [last], outcomes: records.outcomes, of: ownerName))
  }

  override var progressShape: ProgressShape {
    let count = expectedCount.load(ordering: .relaxed)
    return .steps(count < 0 ? nil : count)
  }

  override func discardSteps() {
    sequence = nil
  }
}
