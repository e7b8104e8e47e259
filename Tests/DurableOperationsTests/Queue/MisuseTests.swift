#if os(macOS) || os(Linux)
import CompositeOperationsTestKit
import DurableOperations
import Foundation
import Testing

/// Mistakes of the programmer end the program, with a message that says what to do.
@Suite(.timeLimit(.minutes(30))) struct MisuseTests {
  private func expect(_ result: ExitTest.Result?, says text: String) {
    let error = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(error.contains(text), "\(error)")
  }

  @Test func limitBelowOne() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try DurableQueue(location: .memory).register(Count.self, maxConcurrent: 0) { _, _ in BlockOperation {} }
      }, says: "registered with maxConcurrent 0")
  }

  @Test func emptyKind() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try DurableQueue(location: .memory).register(Nameless.self) { _, _ in BlockOperation {} }
      }, says: "empty kind")
  }

  @Test func emptyKindEnqueued() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try await DurableQueue(location: .memory).enqueue(Nameless())
      }, says: "The job type Nameless has an empty kind.")
  }

  @Test func noConcurrency() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        var configuration = DurableQueue.Configuration()
        configuration.maxConcurrentOperationCount = 0
        _ = try DurableQueue(location: .memory, configuration: configuration)
      }, says: "maxConcurrentOperationCount is 0")
  }

  @Test func noLease() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        var configuration = DurableQueue.Configuration()
        configuration.leaseDuration = .zero
        _ = try DurableQueue(location: .memory, configuration: configuration)
      }, says: "leaseDuration is")
  }

  @Test func noAttempts() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = JobOptions(maxAttempts: 0)
      }, says: "JobOptions.maxAttempts is 0")
  }

  @Test func noAttemptsSetLater() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        var options = JobOptions()
        options.timeout = .zero
        _ = try await DurableQueue(location: .memory).enqueue(Count(number: 1), options: options)
      }, says: "JobOptions.timeout is")
  }

  @Test func negativePosition() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = JobID.inSameCall(-1)
      }, says: "inSameCall got the position -1")
  }

  @Test func negativePage() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = try DurableQueue(location: .memory).jobs(limit: -1)
      }, says: "limit -1")
  }

  @Test func payloadsLargerThanAServerTakes() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        var configuration = DurableQueue.Configuration()
        configuration.maxPayloadSize = 1 << 30
        _ = try DurableQueue(location: .postgres("postgresql:///none"), configuration: configuration)
      }, says: "maxPayloadSize is 1073741824. Use 536870912 or less on a server.")
  }

  @Test func schemaThatIsTooLong_isToldItsLength() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let name = String(repeating: "ä", count: 32)
        _ = try DurableQueue(location: .postgres("postgresql:///none", PostgresOptions(schema: name)))
      }, says: "which has 64 bytes. Use a name of 1 to 63 bytes")
  }

  /// The second one is no `$$` for Swift, which sees a `$` with an accent.
  @Test(arguments: ["a$$b", "a$$\u{301}b", "a;\nb", ""]) func schemaThatCutsTheTextOfFunctions(_ name: String) async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [name] in
        _ = try DurableQueue(location: .postgres("postgresql:///none", PostgresOptions(schema: name)))
      }, says: "Use a name of 1 to 63 bytes, without control characters and $$.")
  }
}

private struct Nameless: Job {
  static let kind = ""
}
#endif
