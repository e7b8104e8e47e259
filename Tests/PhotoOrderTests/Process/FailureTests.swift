#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import PhotoOrder

@Suite(.timeLimit(.minutes(30))) struct FailureTests {
  /// The lines that tell of failures, in the order of the text: uploads run at the same time.
  private func failures(_ result: Program.Result) -> [String] {
    result.lines.filter { $0.contains("(made up by --fail)") }.sorted()
  }

  @Test func sameSeed_letsTheSameAttemptsFail() async throws {
    let script = "start all\nfulfill all\nwait\nretry all\nwait\nretry all\nwait"
    var runs: [[String]] = []
    for _ in 0..<3 {
      runs.append(
        failures(try await Program.run(script: script, "--fail", "0.5", "--seed", "3", in: try TemporaryFolder())))
    }
    #expect(!runs[0].isEmpty)
    #expect(runs[0] == runs[1] && runs[1] == runs[2])
    let other = try await Program.run(script: script, "--fail", "0.5", "--seed", "4", in: try TemporaryFolder())
    #expect(failures(other) != runs[0])
  }

  @Test func failure_isToldWithWhatItBlocks_andRetryGoesOn() async throws {
    // The seed lets the second upload fail once, and nothing else.
    func plan(_ seed: UInt64) -> FailurePlan { FailurePlan(probability: 0.5, seed: seed) }
    let seed = try #require(
      (UInt64(0)...1_000).first { seed in
        func fails(_ task: String, _ attempt: Int) -> Bool { plan(seed).failure(of: task, attempt: attempt) != nil }
        return fails("Upload Photo 2", 1) && !fails("Upload Photo 2", 2)
          && !["Create Project", "Upload Photo 1", "Submit Order"].contains { fails($0, 1) }
      })
    let percent = Int(try #require(plan(seed).failure(of: "Upload Photo 2", attempt: 1)) * 100)
    let folder = try TemporaryFolder()
    let result = try await Program.run(
      script: "start all\nfulfill all\nwait\nshow\nretry Upload Photo 2\nwait", "--fail", "0.5", "--seed", "\(seed)",
      in: folder)
    #expect(result.status == 0)
    #expect(
      result.has(
        "Attempts fail as --fail 0.5 --seed \(seed) decides.",
        "Upload Photo 2: failed: the connection was lost at \(percent) % (made up by --fail); retry it",
        "Photo Order: failed: Upload Photo 2; blocked by that: Submit Order", "> retry Upload Photo 2",
        "Upload Photo 2: will run again", "Photo Order: started", "Upload Photo 2: started (attempt 2)",
        "Upload Photo 2: finished", "Submit Order: finished"))
    #expect(result.output.contains("5 ✘ Upload Photo 2      failed     "))
    #expect(result.lines.contains("Run 1 failed: 6 attempts, 5 finished, 1 failed, 0 cancelled"))
    #expect(try folder.list("order/photos").count == 2)
  }

  @Test func everyAttempt_fails_whenTheProbabilityIsOne() async throws {
    let folder = try TemporaryFolder()
    let result = try await Program.run("--fail", "1", in: folder)
    #expect(result.status == 1)
    #expect(result.output.contains("Create Project: failed: the connection was lost at"))
    #expect(
      result.lines.contains(
        "Photo Order: failed: Create Project; blocked by that: Upload Photo 1, Upload Photo 2, Submit Order"))
    #expect(result.errors.contains("Missing: Create Project, Upload Photo 1, Upload Photo 2, Submit Order\n"))
    #expect(try folder.text("photo-order/order.mmd").contains("t1[\"Create Project\"]:::failed"))
  }

  @Test func seed_thatIsMadeUp_isTold() async throws {
    let result = try await Program.run("--fail", "0.01", in: try TemporaryFolder())
    #expect(result.output.contains(#/Attempts fail as --fail 0.01 --seed [0-9]+ decides.\n/#))
  }
}
#endif
