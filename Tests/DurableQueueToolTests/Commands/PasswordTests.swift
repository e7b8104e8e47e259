#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// The password of a URL is never shown.
@Suite(.timeLimit(.minutes(30)), .enabled(if: PostgresServer.isAvailable)) struct PasswordTests {
  private let secrets = [PostgresServer.password, PostgresServer.password.replacing(" ", with: "%20"), "sesame"]

  private func expectNone(_ ran: Ran, _ arguments: [String]) {
    for secret in secrets { #expect(!(ran.output + ran.errors).contains(secret), "\(arguments) \(ran)") }
  }

  @Test(arguments: Verb.allCases.filter(\.takesPlace)) func verb_showsNone(_ verb: Verb) async throws {
    let sample = try await ServerSample()
    try sample.letGuardedIn()
    let queue = try sample.queue()
    try await queue.enqueue(contentsOf: (0..<8).map { Mail(to: "\($0)") })
    try await queue.schedule(Mail(to: "all"), named: "nightly", .interval(.seconds(3600)))
    let words = Array(verb.exampleWords.dropFirst()) + ["--schema", sample.schema]
    // The last arguments have no effect here.
    let forms = [words + ["--json"], words]
    for arguments in forms.map({ [verb.rawValue, sample.guardedURL] + $0 }) {
      let ran = tool(arguments)
      // It has used it.
      #expect([0, 1].contains(ran.status) && !ran.errors.contains("no connection"), "\(ran)")
      expectNone(ran, arguments)
    }
    let ofEnvironment = tool(
      [verb.rawValue, "-"] + words, environment: ["DURABLE_QUEUE": sample.guardedURL])
    #expect([0, 1].contains(ofEnvironment.status), "\(ofEnvironment)")
    expectNone(ofEnvironment, ["-"])
  }

  @Test(arguments: Verb.allCases) func wrongUse_showsNone(_ verb: Verb) async throws {
    let url = try await ServerSample(isMade: false).guardedURL
    for arguments in [
      [url, verb.rawValue], [verb.rawValue, "7", url], [verb.rawValue, url, url],
      [verb.rawValue, "--json=\(url)", "f"],
      [verb.rawValue, "f", "--state", url], [verb.rawValue, "f", "--limit", url], [verb.rawValue, "f", "--after", url],
      [verb.rawValue, "f", "--schema", url], [verb.rawValue, url, "--schema", ""], [verb.rawValue, "f", "--\(url)"],
      [verb.rawValue, url.replacing("postgresql:", with: "mysql:"), "7"],
      [verb.rawValue, url.replacing("@/", with: "@:not-a-port/"), "7"],
      [verb.rawValue, url.replacing("open", with: "o/p@en"), "7"],
      [verb.rawValue, "\(url)&unknown=1", "7"], [verb.rawValue, "host=localhost password=open%20sesame", "7"],
    ] {
      let ran = tool(arguments)
      #expect(ran.status != 0, "\(arguments)")
      #expect(!ran.errors.isEmpty)
      expectNone(ran, arguments)
    }
  }

  @Test func roleThatIsRefused_isToldWithoutIt() async throws {
    let sample = try await ServerSample(isMade: false)
    for url in [
      sample.guardedURL.replacing("sesame", with: "barley"),
      sample.guardedURL.replacing("/postgres?", with: "/nothing?"),
      sample.guardedURL + "&sslmode=require", sample.guardedURL + "&sslrootcert=open-sesame",
    ] {
      for verb in [Verb.stats, .doctor] {
        let arguments = [verb.rawValue, url, "--schema", sample.schema]
        let ran = tool(arguments)
        #expect(ran.status == 1, "\(ran)")
        for secret in ["open%20", PostgresServer.password, "barley"] {
          #expect(!(ran.output + ran.errors).contains(secret), "\(ran)")
        }
      }
    }
  }

  @Test func help_showsNone() async throws {
    let url = try await ServerSample(isMade: false).guardedURL
    for verb in Verb.allCases {
      let ran = tool(verb.rawValue, url, "--help", environment: ["DURABLE_QUEUE": url])
      #expect(ran.status == 0)
      expectNone(ran, [verb.rawValue])
    }
  }

  @Test func executable_showsNone() async throws {
    let sample = try await ServerSample()
    try sample.letGuardedIn()
    let ran = try await PlainProcess.run("durable-queue", "stats", sample.guardedURL, "--schema", sample.schema)
    #expect(ran.status == 0 && !ran.lines.isEmpty)
    for secret in secrets { #expect(!ran.lines.joined().contains(secret)) }
  }
}
#endif
