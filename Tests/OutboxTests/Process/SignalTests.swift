#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct SignalTests {
  @Test(arguments: Engine.available, [SIGTERM, SIGINT])
  func signal_letsWhatIsUnderWayEnd_andExitsWithZero(on engine: Engine, _ signal: Int32) async throws {
    let folder = try TemporaryFolder.withLetters(300)
    let place = try await engine.place(in: folder)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    let run = try Program(
      ["run", "--server", server.url, "--pace", "1", "--width", "2", "--grace", "3600"], at: place, in: folder)
    await run.wait(forLines: 2, with: "  sent")
    run.send(signal)
    let result = try await run.result()
    #expect(!result.wasKilled)
    #expect(result.status == 0)
    #expect(result.lines.last == "Run it again to go on.")
    let counts = try await place.queue().counts()
    #expect(counts[.done] == result.lines.count { $0.hasSuffix("  sent") })
    #expect(counts[.done] + counts[.waiting] == 300)
    _ = try await server.stop()
  }

  @Test(arguments: Engine.available)
  func signalWithoutGrace_putsBackWhatIsUnderWay_withoutAnAttempt(on engine: Engine) async throws {
    let folder = try TemporaryFolder.withLetters(10)
    let place = try await engine.place(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    // Nothing is sent for an hour.
    let run = try Program(
      ["run", "--server", "http://127.0.0.1:9", "--pace", "3600", "--grace", "0"], at: place, in: folder)
    await run.wait(forLines: 1)
    run.send(SIGTERM)
    let result = try await run.result()
    #expect(result.status == 0)
    #expect(result.lines.contains("10 messages: 10 waiting."))
    #expect(try await place.queue().jobs().allSatisfy { $0.attempts == 0 && $0.crashes == 0 && $0.state == .waiting })
  }

  @Test func secondSignal_endsItAtOnce() async throws {
    let folder = try TemporaryFolder.withLetters(10)
    _ = try await Program.run("enqueue", "letters", in: folder)
    try await withServer { server in
      server.route("/messages", HTTPAnswer.ok().held(by: Gate()))
      let run = try Program(["run", "--server", server.url("").description, "--grace", "3600"], in: folder)
      await server.requests.wait(forCount: 1)
      run.send(SIGTERM)
      await run.wait(forLines: 1, with: "Asked to end; a second time ends it at once.")
      run.send(SIGTERM)
      let result = try await run.result()
      #expect(!result.wasKilled)
      #expect(result.status == 128 + SIGTERM)
    }
  }

  @Test func inputThatEnds_endsServerAndRun() async throws {
    let folder = try TemporaryFolder.withLetters(1)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", in: folder)
    let run = try Program(["run", "--server", server.url, "--stay"], in: folder)
    await run.wait(forLines: 1, with: "  sent")
    run.endInput()
    let sent = try await run.result()
    #expect(!sent.wasKilled)
    #expect(sent.status == 0)
    #expect(sent.lines.suffix(2) == ["1 message: 1 sent.", "Run it again to go on."])
    server.program.endInput()
    let served = try await server.program.result()
    #expect(!served.wasKilled)
    #expect(served.status == 0)
    #expect(served.lines.last == "1 message arrived, 0 came again.")
  }
}
#endif
