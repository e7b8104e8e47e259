#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Several machines, as far as their processes can tell: each process says to which it belongs.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresHostsTests {
  private func child(
    _ schema: TestSchema, port: UInt16? = nil, _ arguments: String...
  ) throws -> DurableChild { try DurableChild(arguments: schema.arguments(port: port) + arguments) }

  // MARK: - Processes that end

  @Test(arguments: ["host=elsewhere", "boot=earlier"])
  func killedOnAnotherHost_isTakenOverAfterItsLease_andCountsAsALapse(_ stranger: String) async throws {
    let schema = try await TestSchema()
    let first = try child(schema, stranger, "lease=3000")
    await first.tell("start", until: "started")
    first.tell("enqueue 1 hold")
    await first.wait(for: "holds 1")
    let inspection = try await schema.inspection()
    let worker = try inspection.number("SELECT worker FROM jobs")
    let other = try child(schema, "lease=3000")
    await other.tell("start", until: "started")
    // While it lives: one that was taken over has no row.
    let end = try inspection.number("SELECT lease_until FROM workers WHERE id = \(worker)")
    await first.killAndWait()
    await other.wait(for: "rescued 1")
    #expect(try inspection.number("SELECT now_ms()") >= end, "it came before the lease was over")
    other.tell("release")
    await other.wait(for: "done 1")
    #expect(try inspection.numbers("SELECT lapses FROM jobs") == [1])
    #expect(try inspection.numbers("SELECT crashes FROM jobs") == [0])
    await other.exit()
  }

  @Test func killedOnTheSameHost_isTakenOverAtTheNextLook_andCountsAsACrash() async throws {
    let schema = try await TestSchema()
    let first = try child(schema, "host=here"), other = try child(schema, "host=here")
    await first.tell("start", until: "started")
    first.tell("enqueue 1 hold")
    await first.wait(for: "holds 1")
    await other.tell("start", until: "started")
    await first.killAndWait()
    // The lease is for ten minutes.
    await other.wait(for: "rescued 1")
    other.tell("release")
    await other.wait(for: "done 1")
    let inspection = try await schema.inspection()
    #expect(try inspection.numbers("SELECT crashes FROM jobs") == [1])
    #expect(try inspection.numbers("SELECT lapses FROM jobs") == [0])
    await other.exit()
  }

  // MARK: - Processes that are busy

  @Test func computesOnAllProcessors_keepsItsLease() async throws {
    let schema = try await TestSchema(), count = ProcessInfo.processInfo.activeProcessorCount
    let busy = try child(schema, "lease=9000", "concurrent=\(count)")
    await busy.tell("start", until: "started")
    busy.tell("enqueue \(count) compute")
    await busy.wait(forCount: 1, of: "holds")
    let inspection = try await schema.inspection()
    let end = { try inspection.number("SELECT lease_until FROM workers") }
    let first = try end()
    // It is prolonged every three seconds. The first time may have come before all were busy; on a
    // busy machine another may be late.
    try await until(try end() >= first + 6_000 || inspection.number("SELECT now_ms()") > first + 60_000)
    #expect(try end() >= first + 6_000)
    await busy.killAndWait()
  }

  // MARK: - Processes that stand still

  @Test(arguments: ["here", "elsewhere"])
  func standsStillForLongerThanALease_losesItsJobs_andIsTold(host: String) async throws {
    let schema = try await TestSchema()
    let slow = try child(schema, "host=here", "lease=1000", "concurrent=2")
    await slow.tell("start", until: "started")
    slow.tell("enqueue 1 hold")
    await slow.wait(for: "holds 1")
    slow.tell("enqueue 1 deaf")
    await slow.wait(for: "holds 2")
    slow.signal(SIGSTOP)
    let other = try child(schema, "host=\(host)", "concurrent=2")
    await other.tell("start", until: "started")
    for id in 1...2 { await other.wait(for: "holds \(id)") }
    slow.signal(SIGCONT)
    // What hears of it ends, and what ends is not acknowledged.
    await slow.wait(for: "interrupted 1")
    await slow.wait(for: "leaseLost 1")
    slow.tell("release")
    await slow.wait(for: "leaseLost 2")
    let inspection = try await schema.inspection()
    #expect(try inspection.ids(in: .executing) == [1, 2])
    other.tell("release")
    for id in 1...2 { await other.wait(for: "done \(id)") }
    await other.tell("stop 0", until: "stopped")
    // It goes on as if nothing had happened.
    slow.tell("enqueue 1 run")
    await slow.wait(for: "done 3")
    #expect(slow.numbers(after: "done") == [3])
    // A process that certainly runs has not crashed.
    let lapses: Int64 = host == "here" ? 0 : 1
    #expect(try inspection.numbers("SELECT lapses FROM jobs ORDER BY id") == [lapses, lapses, 0])
    #expect(try inspection.numbers("SELECT crashes FROM jobs") == [0, 0, 0])
    #expect(try inspection.problems() == [])
    await slow.exit()
    await other.exit()
  }

  @Test func standsStillInTheMiddleOfARound_doesNotKeepItsJobs() async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let slow = try child(schema, port: proxy.port, "host=here", "lease=1000", "concurrent=2")
    await slow.tell("start", until: "started")
    slow.tell("enqueue 1 hold")
    await slow.wait(for: "holds 1")
    slow.tell("enqueue 1 hold")
    await slow.wait(for: "holds 2")
    // The server has the number of the round that says that they are done, and waits for the rest.
    proxy.hold(behind: "begin_round")
    slow.tell("release")
    await until(proxy.isHolding)
    slow.signal(SIGSTOP)
    let other = try child(schema, "host=elsewhere", "concurrent=2")
    await other.tell("start", until: "started")
    for id in 1...2 { await other.wait(for: "holds \(id)") }
    let inspection = try await schema.inspection()
    #expect(try inspection.numbers("SELECT lapses FROM jobs ORDER BY id") == [1, 1])
    proxy.letPass()
    slow.signal(SIGCONT)
    for id in 1...2 { await slow.wait(for: "leaseLost \(id)") }
    #expect(try inspection.ids(in: .executing) == [1, 2])
    other.tell("release")
    for id in 1...2 { await other.wait(for: "done \(id)") }
    #expect(slow.numbers(after: "done") == [])
    #expect(try inspection.problems() == [])
    await slow.exit()
    await other.exit()
  }

  // MARK: - Processes that cannot be reached

  enum Partition: CaseIterable, CustomTestStringConvertible {
    /// Each attempt to connect is refused.
    case refused
    /// Nothing passes, in either direction.
    case silent

    var testDescription: String { "\(self)" }
  }

  @Test(arguments: Partition.allCases)
  func cutOffForLongerThanItsLease_itsJobsAreTakenOver_andItsAcknowledgementsRefused(_ partition: Partition)
    async throws
  {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let far = try child(schema, port: proxy.port, "host=far", "lease=1000", "concurrent=2", "statement=10000")
    await far.tell("start", until: "started")
    far.tell("enqueue 1 hold")
    await far.wait(for: "holds 1")
    far.tell("enqueue 1 deaf")
    await far.wait(for: "holds 2")
    switch partition {
    case .refused:
      proxy.setRefusing(true)
      proxy.cutAll()
    case .silent: proxy.setSilent(true)
    }
    let near = try child(schema, "host=near", "concurrent=2")
    await near.tell("start", until: "started")
    for id in 1...2 { await near.wait(for: "holds \(id)") }
    // It ends while no report can be sent.
    await far.wait(forCount: 1, of: "failed")
    far.tell("release")
    proxy.letPass()
    for id in 1...2 { await far.wait(for: "leaseLost \(id)") }
    let inspection = try await schema.inspection()
    #expect(try inspection.ids(in: .executing) == [1, 2])
    near.tell("release")
    for id in 1...2 { await near.wait(for: "done \(id)") }
    await near.tell("stop 0", until: "stopped")
    far.tell("enqueue 1 run")
    await far.wait(for: "done 3")
    #expect(far.numbers(after: "done") == [3])
    #expect(try inspection.numbers("SELECT lapses FROM jobs ORDER BY id") == [1, 1, 0])
    #expect(try inspection.problems() == [])
    await far.exit()
    await near.exit()
  }

  @Test func serverIsGoneForLongerThanALease_takesNoJobFromThoseWhoComeBack() async throws {
    let server = try await PostgresServer.own()
    let schema = try await TestSchema(on: server)
    let proxy = try PostgresProxy(to: server.port)
    let children = try ["one", "two"].map {
      try child(schema, port: proxy.port, "host=\($0)", "concurrent=1", "lease=600000")
    }
    for (number, child) in children.enumerated() {
      await child.tell("start", until: "started")
      child.tell("enqueue 1 hold")
      await child.wait(for: "holds \(number + 1)")
    }
    let leases = try await schema.inspection().numbers("SELECT lease_until FROM workers ORDER BY id")
    proxy.setRefusing(true)
    try await server.stop()
    for child in children { await child.wait(forCount: 1, of: "failed") }
    try await server.start()
    let inspection = try await schema.inspection()
    // An hour.
    try inspection.setClock(ahead: .seconds(3600))
    proxy.letPass()
    // Both are back, and say so.
    try await inspection.wait {
      try $0.numbers("SELECT lease_until FROM workers ORDER BY id").elementsEqual(leases) { $0 > $1 + 3_000_000 }
    }
    for child in children { child.tell("release") }
    for (number, child) in children.enumerated() {
      await child.wait(for: "done \(number + 1)")
      #expect(child.numbers(after: "rescued") == [] && child.numbers(after: "leaseLost") == [])
    }
    #expect(try inspection.numbers("SELECT lapses + crashes FROM jobs") == [0, 0])
    for child in children { await child.exit() }
  }

  @Test func serversClockIsSetAhead_takesNoJobFromThoseWhoAreThere() async throws {
    let schema = try await TestSchema()
    let children = try ["one", "two"].map { try child(schema, "host=\($0)", "concurrent=1", "lease=600000", "poll=10") }
    for (number, child) in children.enumerated() {
      await child.tell("start", until: "started")
      child.tell("enqueue 1 hold")
      await child.wait(for: "holds \(number + 1)")
    }
    let inspection = try await schema.inspection()
    for hour in Int64(1)...5 {
      let leases = try inspection.numbers("SELECT lease_until FROM workers ORDER BY id")
      try inspection.setClock(ahead: .seconds(3600) * Int(hour))
      try await inspection.wait {
        try $0.numbers("SELECT lease_until FROM workers ORDER BY id").elementsEqual(leases) { $0 > $1 + 3_000_000 }
      }
    }
    for child in children { child.tell("release") }
    for (number, child) in children.enumerated() {
      await child.wait(for: "done \(number + 1)")
      #expect(child.numbers(after: "rescued") == [] && child.numbers(after: "leaseLost") == [])
    }
    for child in children { await child.exit() }
  }
}
#endif
