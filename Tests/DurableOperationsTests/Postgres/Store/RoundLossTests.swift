#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Connections that break at each point of a round: the queue finds out what was written, and
/// nothing is lost, repeated or refused.
@Suite(.timeLimit(.minutes(60)), .needsPostgres) struct RoundLossTests {
  /// Which round is lost.
  enum Lost: CaseIterable, CustomTestStringConvertible {
    /// The first one, in which the process is taken in.
    case first
    case later
    /// The last one, after which the process is taken out.
    case last

    var testDescription: String { "\(self)" }
  }

  enum Return: CaseIterable, CustomTestStringConvertible {
    /// The server can be reached at once.
    case atOnce
    /// It can be reached after the round has failed.
    case later
    /// The same as the first, but the server has half of the round, and waits for the rest.
    case besideTheOldSession

    var testDescription: String { "\(self)" }
  }

  @Test(arguments: Lost.allCases, Return.allCases)
  func cut_atEachPointOfARound_losesAndRepeatsNothing(_ lost: Lost, _ comesBack: Return) async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let inspection = try await schema.inspection()
    var points: [(PostgresProxy.Side, Int)] = []
    try await trial(lost, schema, proxy, inspection) {
      proxy.letPass()
    } whenDone: {
      for side in PostgresProxy.Side.allCases {
        points += [(side, 0)] + proxy.messageEnds(side).flatMap { [(side, $0), (side, $0 + 3)] }
      }
    }
    #expect(points.count > 20)
    if comesBack == .besideTheOldSession { points = points.filter { $0.0 == .fromClient } }
    // Each of these waits for the old session for a second.
    let share = comesBack == .besideTheOldSession ? Scale.factor / 4 : Scale.factor
    let step = min(40, max(1, Int(1 / share)))
    for (index, point) in points.enumerated() where index % step == 0 {
      let failures = try await trial(lost, schema, proxy, inspection) {
        proxy.cut(
          point.0, after: point.1, by: comesBack == .besideTheOldSession ? .leavesServer : .closes,
          refusing: comesBack == .later)
      } whenFailed: {
        if comesBack == .later { proxy.letPass() }
      }
      // A connection that breaks is replaced at once.
      // Not while it is made: the first round of a queue connects.
      if comesBack == .atOnce, lost != .first { #expect(failures == 0, "\(point)") }
    }
    print("round \(lost), server comes back \(comesBack): \(proxy.cuts) cuts at \(points.count / step) points")
  }

  /// - Returns: how many rounds failed.
  @discardableResult
  private func trial(
    _ lost: Lost, _ schema: TestSchema, _ proxy: PostgresProxy, _ inspection: SchemaInspection,
    disturb: @escaping @Sendable () -> Void, whenFailed: @escaping @Sendable () -> Void = {},
    whenDone: () -> Void = {}
  ) async throws -> Int {
    proxy.letPass()
    let trial = try await onWorker { Result { try RoundTrial(schema, port: proxy.port) } }.get()
    trial.whenFailed = whenFailed
    let ids = try await onWorker { Result { try Self.perform(trial, lost, disturb) } }.get()
    whenDone()
    proxy.letPass()
    // Each was claimed as often as it was to be, and there is one worker.
    #expect(trial.claimed.map(\.id).sorted() == (ids.all + ids.again).sorted())
    #expect(trial.lostWorkers == 0)
    #expect(try inspection.number("SELECT count(DISTINCT worker) FROM jobs WHERE state = 3") <= 1)
    let worker = trial.worker ?? -1
    #expect(try inspection.number("SELECT count(*) FROM jobs WHERE state = 3 AND worker <> \(worker)") == 0)
    #expect(trial.access.store.numbers.withLock { $0.counter?.worker } == trial.worker)
    // Undisturbed rounds do the rest.
    await onWorker {
      while case let open = Self.open(trial, inspection), !open.isEmpty { trial.round(open, limit: 4) }
      trial.round(limit: 0, isLast: true)
    }
    #expect(trial.lostWorkers == 0)
    #expect(try inspection.ids(in: .done) == Set(ids.all.map(\.rawValue)))
    let attempts = try inspection.numbers("SELECT attempts FROM jobs ORDER BY id")
    #expect(attempts == ids.all.sorted().map { ids.again.contains($0) ? 2 : 1 })
    let told = await trial.told()
    for id in ids.all { #expect(told[id] == (ids.again.contains(id) ? [.failed, .done] : [.done]), "\(id)") }
    // One that was taken in by a transaction whose answer was lost has no jobs, and goes when its
    // lease is over.
    #expect(try inspection.number("SELECT count(*) FROM workers") <= (lost == .first ? 1 : 0))
    for table in ["jobs", "workers", "rounds"] { try inspection.execute("DELETE FROM \(table)") }
    return trial.failures
  }

  /// What executes, and is to be acknowledged.
  private static func open(_ trial: RoundTrial, _ inspection: SchemaInspection) -> [Acknowledgement] {
    let ids = (try? inspection.ids(in: .executing)) ?? []
    return ids.sorted().map { trial.end(JobID(rawValue: $0)) }
  }

  /// A round that acknowledges, lets a dependent go on, has a job run again, and claims all three.
  private static func perform(
    _ trial: RoundTrial, _ lost: Lost, _ disturb: () -> Void
  ) throws -> (all: [JobID], again: [JobID]) {
    let first = try trial.enqueue(JobOptions(), JobOptions())
    if lost == .first { disturb() }
    while trial.claimed.count < 2 { trial.round(limit: 2 - trial.claimed.count) }
    if lost == .first { return (first, []) }
    let later = try trial.enqueue(JobOptions(), JobOptions(dependsOn: [first[0]]))
    if lost == .later { disturb() }
    trial.round(
      [trial.end(first[0]), trial.end(first[1], .again(after: .zero, isCharged: true, error: "once"))], limit: 4)
    while trial.claimed.count < 5 { trial.round(limit: 5 - trial.claimed.count) }
    if lost == .last {
      disturb()
      trial.round([later[0], later[1], first[1]].map { trial.end($0) }, limit: 0, isLast: true)
    }
    return (first + later, [first[1]])
  }
}
#endif
