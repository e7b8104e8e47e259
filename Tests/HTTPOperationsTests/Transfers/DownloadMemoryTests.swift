#if os(Linux)
import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

@Suite("HTTP: memory", .hangLimit) struct DownloadMemoryTests {
  /// In a process of its own, for the most memory that a process ever had is never forgotten.
  @Test func largeDownload_isNotInMemory() async {
    await #expect(processExitsWith: .success) {
      let mebibytes = 48
      let folder = try TemporaryFolder()
      try await withServer { server in
        server.route("/small", .large(byteCount: 1 << 20))
        server.route("/large", .large(byteCount: mebibytes << 20))
        try await HTTPOperation(request(server.url("/small")), transfer: .download(to: folder.file("small"))).run()
        let before = try DownloadMemoryTests.mostMemoryInMebibytes()
        try await HTTPOperation(request(server.url("/large")), transfer: .download(to: folder.file("large"))).run()
        let after = try DownloadMemoryTests.mostMemoryInMebibytes()
        precondition(after - before < mebibytes / 2, "\(after - before) MiB more")
      }
    }
  }

  @Test func packedBody_thatGrowsWithoutMeasure_isNotInMemory() async {
    await #expect(processExitsWith: .success) {
      let zeros = Gzip.zeros(byteCount: 256 << 20)
      let head = Array("HTTP/1.1 200 OK\r\nContent-Encoding: ".utf8)
      try await withServer(keepsConnections: false) { server in
        server.route("/small", .large(byteCount: 1 << 20))
        server.route("/once", .raw(head + Array("gzip\r\n\r\n".utf8) + zeros))
        server.route("/twice", .raw(head + Array("gzip, gzip\r\n\r\n".utf8) + Gzip.stored(zeros)))
        try await HTTPOperation(request(server.url("/small"))).run()
        let before = try DownloadMemoryTests.mostMemoryInMebibytes()
        for path in ["/once", "/twice"] {
          let operation = HTTPOperation(request(server.url(path)), options: HTTPOptions(maxBodySize: 8 << 20))
          let error = await outcomeOfStarting(operation).httpError
          precondition(error?.code == .bodyTooLarge, "\(String(describing: error))")
        }
        let after = try DownloadMemoryTests.mostMemoryInMebibytes()
        precondition(after - before < 64, "\(after - before) MiB more")
      }
    }
  }

  private static func mostMemoryInMebibytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.split { $0 == " " || $0 == "\t" }.dropLast().last ?? "")) / 1024
  }
}
#endif
