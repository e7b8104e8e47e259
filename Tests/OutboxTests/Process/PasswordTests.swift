#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct PasswordTests {
  @Test func passwordOfTheServer_isShownNowhere() async throws {
    let folder = try TemporaryFolder.withLetters(1)
    _ = try await Program.run("enqueue", "letters", in: folder)
    let nobody = try RefusingPort()
    let run = try Program(["run", "--server", "http://app:sesame@127.0.0.1:\(nobody.port)"], in: folder)
    await run.wait(forLines: 1, with: "will be sent again")
    run.send(SIGTERM)
    let result = try await run.result()
    #expect(result.status == 0)
    #expect(result.lines.first == "1 message to be sent to http://app:********@127.0.0.1:\(nobody.port)")
    let status = try await Program.run("status", in: folder)
    for line in result.lines + status.lines + [result.errors] { #expect(!line.contains("sesame")) }
  }
}
#endif
