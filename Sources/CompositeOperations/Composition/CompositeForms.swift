import Foundation
import Synchronization

/// The form of a parallel ``CompositeOperation``.
final class ParallelForm: Composition, @unchecked Sendable {  // see the superclass
  init(_ children: [Operation]) {
    super.init(.parallel, .list(children.count, .cancelRemaining), [], children: children)
  }

  override func conclude(_ verdict: Verdict, count: Int) {
    switch verdict {
    case .success: settleOwner(.success(children.map(Self.value)))
    case .failures(let failures): settleOwner(.failure(CompositeError(failures, of: children, in: ownerName)))
    default: settleOwner(.cancelled)
    }
  }

  private static func value(of child: Operation) -> any Sendable {
    if child.isOwn { return child.asOwn.storedValue }
    return type(of: child) == BlockOperation.self ? () : child.anyOutcome?.value ?? ()
  }
}

/// The form of a sequential ``CompositeOperation``.
final class SequenceForm: Composition, @unchecked Sendable {  // see the field
  // Only the asking thread uses it.
  @exclusivity(unchecked) private var sequence: (any CompositeOperation.Sequence)?
  /// How many operations the delegate expects; -1 if unknown.
  private let expectedCount = Atomic(-1)

  private let retries: Bool

  init(_ sequence: sending any CompositeOperation.Sequence) {
    retries = sequence is any SequenceOfAttempts
    self.sequence = sequence
    super.init(.sequence, .steps(areRecorded: true), .seesRefusals)
  }

  deinit {
    ReleaseList.release(&sequence)
  }

  /// Releases the values of the children when the composite is deinitialized.
  func releaseRecords() {
    var records = table.withLock { $0.records.take() }
    records?.release()
  }

  override func attempt(of tag: Int) -> Int { retries ? tag : 1 }

  /// The outcomes of the children so far; nil for the current one.
  var outcomes: [Outcome<any Sendable>?] {
    table.withLock { table in
      let outcomes = table.records?.outcomes ?? []
      return outcomes + [Outcome<any Sendable>?](repeating: nil, count: table.stepCount - outcomes.count)
    }
  }

  override func make(_ count: Int, after previous: Operation?, _ refusal: OperationError?) -> Made {
    do {
      // A child that a queue holds has not ended, and the composite fails.
      if refusal?.code != .alreadyInUse, let next = try sequence?.nextOperation(after: previous) {
        if count == 0 || !monitors.isEmpty { updateExpectedCount() }
        if let error = next.refusalAsNextOperation { return failure(adding: error, index: count, name: next.name) }
        return .run(next)
      }
    } catch is CancellationError {
      return .settle(.cancelled)
    } catch {
      return failure(adding: error, index: count, name: nil)
    }
    let records = table.withLock { $0.records ?? SequentialRecords() }
    switch records.last {
    case .none, .success: return .settle(.success(records.values))
    case .failure:
      return .settle(
        .failure(CompositeError(failures: records.failures, outcomes: records.outcomes, of: ownerName)))
    case .cancelled: return .settle(.cancelled)
    }
  }

  // Out of line: a step of a long sequence costs little more than the delegate's call.
  @inline(never)
  private func updateExpectedCount() {
    expectedCount.store(sequence?.expectedCount ?? -1, ordering: .relaxed)
  }

  private func failure(adding error: any Error, index: Int, name: String?) -> Made {
    let records = table.withLock { $0.records ?? SequentialRecords() }
    let last = CompositeError.Failure(index: index, operationName: name, error: error)
    return .settle(
      .failure(CompositeError(failures: records.failures + [last], outcomes: records.outcomes, of: ownerName)))
  }

  override var progressShape: ProgressShape {
    let count = expectedCount.load(ordering: .relaxed)
    return .steps(count < 0 ? nil : count)
  }

  override func work(standingFor child: Operation) -> Operation? { child }

  override func discard() -> Operation? {
    sequence = nil
    return nil
  }
}
