import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(30))) struct CompactTests {
  @Test func compact_tellsWhatItGaveBack() throws {
    let sample = try Sample()
    let last: JobID
    do {
      let queue = try sample.queue()
      let ids = try queue.enqueue(contentsOf: (0..<5000).map { Mail(to: String(repeating: "\($0)", count: 40)) })
      last = try #require(ids.last)
      try queue.hold(last)
      try queue.deleteAll(in: [.waiting])
    }
    let before = sample.size
    let ran = tool("compact", sample.path)
    #expect(ran.status == 0 && ran.errors == "")
    #expect(ran.output.hasPrefix("\(sample.path)  ") && ran.output.contains(" given back, "), "\(ran.output)")
    let after = sample.size
    #expect(after * 5 < before)
    #expect(try sample.queue().job(last)?.state == .held)
    let json = try #require(try tool("compact", sample.path, "--json").json() as? [String: Any])
    #expect(json["file"] as? String == sample.path)
    #expect(json["bytes"] as? Int == after)
    #expect(json["freed"] as? Int == 0)
  }
}
