#if os(macOS) || os(Linux)
import Foundation
import TestSupport

@testable import DurableOperations

/// A queue's rounds as a test asks for them, one after the other: a round that fails is asked for
/// again with all that it was to write, as a queue does.
final class RoundTrial: @unchecked Sendable {  // used by one thread at a time
  let access: PostgresAccess
  let kind: Int64
  private let events = EventHub()
  private let stream: AsyncStream<JobEvent>
  /// What the queue thinks that it is.
  private(set) var worker: Int64?
  /// All that was claimed, in its order.
  private(set) var claimed: [ClaimedJob] = []
  private(set) var failures = 0
  private(set) var lostWorkers = 0
  /// Called after a round that failed.
  var whenFailed: () -> Void = {}

  init(_ schema: TestSchema, port: UInt16, timeout: Duration = .seconds(1200)) throws {
    stream = events.stream(bufferingPolicy: .unbounded)
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .seconds(600)
    var options = schema.options(statementTimeout: timeout)
    // What others are told goes another way.
    options.listens = .at(schema.url())
    access = try PostgresAccess.open(schema.url(port: port), options, mustExist: false, configuration, events)
    let listens = Gate()
    access.listen { _ in listens.open() }
    listens.waitBlocking()
    kind = try access.sync { try $0.number(ofKind: "a") }
  }

  /// Stores jobs of the kind.
  func enqueue(_ options: JobOptions...) throws -> [JobID] {
    try access.sync { try $0.enqueue([options.map { StoreHarness.job("a", $0) }])[0].get() }
  }

  /// One round, until it has succeeded. Returns what was claimed.
  @discardableResult
  func round(_ ends: [Acknowledgement] = [], limit: Int, isLast: Bool = false) -> [ClaimedJob] {
    while true {
      do {
        let answer = try PostgresSession(access.store, pool: access.store.rounds).round(
          StoreRound(
            acknowledgements: ends, keepsDone: true,
            request: { [kind] in
              limit > 0 ? ClaimRequest(kinds: [(kind, limit)], limit: limit, isOnline: true, mayRunAlone: false) : nil
            },
            worker: worker, lease: .seconds(600), isLast: isLast))
        worker = answer.worker
        if answer.hasLostWorker { lostWorkers += 1 }
        claimed += answer.claim.jobs
        return answer.claim.jobs
      } catch {
        // A session whose connection broke may take its time to end on a busy machine.
        if (error as? DatabaseError)?.code != .busy { failures += 1 }
        whenFailed()
      }
    }
  }

  /// How an attempt has ended.
  func end(_ id: JobID, _ result: Acknowledgement.Result = .done) -> Acknowledgement {
    let job = claimed.last { $0.id == id }
    let attempt = (job?.attempts ?? 0) + 1
    let event: JobEvent.Content =
      if case .done = result {
        .done(id, kind: "a")
      } else {
        .failed(id, kind: "a", attempt: attempt, error: TestFailure(), nextAttempt: Date())
      }
    return Acknowledgement(
      id: id, kind: "a", claim: job?.claim ?? 0, attempt: attempt, result: result, event: event)
  }

  /// What was told of attempts and jobs, by job. Nothing is told afterwards.
  func told() async -> [JobID: [JobEvent.Kind]] {
    events.end()
    var told: [JobID: [JobEvent.Kind]] = [:]
    for await event in stream where event.kind != .enqueued {
      for id in event.jobIDs { told[id, default: []].append(event.kind) }
    }
    return told
  }
}
#endif
