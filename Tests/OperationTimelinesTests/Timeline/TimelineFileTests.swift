import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing

@Suite("Timelines as files")
struct TimelineFileTests {
  private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("timelines-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  @Test func json_readBack_isTheSameTimeline() async throws {
    let recorder = TimelineRecorder()
    let work = all(
      (0..<20).map { number in
        number % 5 == 0
          ? failing(TestError.first, as: Int.self, named: "“odd” \u{1B} </script> \(number)").settled().map { _ in 0 }
          : succeeding(number).timeout(.seconds(9))
      })
    recorder.attach(to: work)
    _ = try? await work.run()
    let timeline = recorder.timeline
    try withFolder { folder in
      let file = folder.appendingPathComponent("run.json")
      try timeline.json().write(to: file, atomically: true, encoding: .utf8)
      let read = try Timeline(contentsOf: file)
      #expect(read == timeline && read.criticalPath == timeline.criticalPath)
      #expect(read.html() == timeline.html())
      #expect(try JSONDecoder().decode(Timeline.self, from: JSONEncoder().encode(timeline)) == timeline)
    }
  }

  @Test func json_withWhatCanBeLeftOut_hasDefaults() throws {
    let text =
      #"{"form": 1, "entries": [{"id": 7}, {"id": 8, "parent": 7, "started": 5, "settled": 9, "ending": "failure"}]}"#
    let read = try JSONDecoder().decode(Timeline.self, from: Data(text.utf8))
    #expect(
      read
        == Timeline(entries: [
          .init(id: 7),
          .init(id: 8, parent: 7, started: .nanoseconds(5), settled: .nanoseconds(9), ending: .failure(message: "")),
        ]))
    #expect(read.end == .nanoseconds(9))
  }

  @Test(
    "A file without a timeline is an error that says where and why",
    arguments: [
      ("", ""), ("[]", ""), ("{}", "“form” is missing"), (#"{"form": 2, "entries": []}"#, "form 2"),
      (#"{"form": 1}"#, "“entries” is missing"),
      (#"{"form": 1, "entries": [{"name": "x"}]}"#, "At entries[0]: “id” is missing"),
      (#"{"form": 1, "entries": [{"id": 1}, {"id": "2"}]}"#, "At entries[1].id: "),
      (#"{"form": 1, "entries": [{"id": 1, "ending": "lost\u001b"}]}"#, "not with “lost\u{FFFD}”"),
      (#"{"form": 1, "entries": [{"id": 1, "queued": 1e300}]}"#, "At entries[0].queued: "),
      (#"{"form": 1, "entries": [{"id": 1, "queued": 0.5}]}"#, "At entries[0].queued: "),
      (#"{"form": 1, "entries": [{"id": 1, "thread": {}}]}"#, "At entries[0].thread: "),
      (String(repeating: "[", count: 200_000), ""), ("\u{0}\u{1}", ""),
    ])
  func json_damaged_isAnErrorThatSaysWhere(text: String, reason: String) throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("run.json")
      try Data(text.utf8).write(to: file)
      let error = try #require(throws: TimelineReadError.self) { try Timeline(contentsOf: file) }
      #expect(error.url == file && error.errorDescription == "\(error)")
      #expect("\(error)".hasPrefix("The timeline could not be read from “\(file.path)”: "))
      #expect(
        (reason.isEmpty || "\(error)".contains(reason))
          && "\(error)".hasSuffix(" Give a file that holds the text of json()."))
      #expect("\(error)".utf8.count < 2000)
    }
  }

  @Test func json_thatIsNotThere_isAnError() throws {
    try withFolder { folder in
      #expect(throws: TimelineReadError.self) { try Timeline(contentsOf: folder) }
      #expect(throws: TimelineReadError.self) { try Timeline(contentsOf: folder.appendingPathComponent("missing")) }
    }
    #expect(throws: TimelineReadError.self) { try Timeline(contentsOf: try #require(URL(string: "https://host/run"))) }
  }

  @Test("Numbers at their limits can be drawn in every form")
  func json_ofLimits_isDrawn() throws {
    let limits = [Int64.min, -1, 0, 1, .max]
    var entries: [String] = []
    for (index, number) in limits.enumerated() {
      for other in limits {
        entries.append(
          #"{"id":\#(number),"parent":\#(other),"queued":\#(other),"started":\#(number),"settled":\#(limits[4 - index]),"#
            + #""ending":"success","thread":{"number":\#(other),"name":""},"attempt":\#(number),"tag":\#(other)}"#)
      }
    }
    for end in limits {
      let text = #"{"form":1,"end":\#(end),"entries":[\#(entries.joined(separator: ","))]}"#
      let read = try JSONDecoder().decode(Timeline.self, from: Data(text.utf8))
      #expect(read.entries.count == entries.count && read.textTree().split(separator: "\n").count == entries.count)
      _ = try JSONSerialization.jsonObject(with: Data(read.chromeTrace().utf8))
      for drawing in [read.html(), read.mermaid(), read.dot()] { #expect(!drawing.isEmpty) }
      #expect(read.peakConcurrency >= 0 && read.criticalPath.count <= entries.count)
      #expect(try JSONDecoder().decode(Timeline.self, from: JSONEncoder().encode(read)) == read)
    }
  }
}
