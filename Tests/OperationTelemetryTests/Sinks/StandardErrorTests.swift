import Foundation
import TestSupport
import Testing

@testable import CompositeOperations
@testable import OperationTelemetry

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A pipe whose reading end the test empties when it likes.
private final class TestPipe: Sendable {
  let pipe = Pipe()
  private let read = Locked(Data())

  var writer: Int32 { pipe.fileHandleForWriting.fileDescriptor }

  /// Takes what there is.
  func takeAvailable() -> Data {
    read.withLock { read in
      var status = pollfd(fd: pipe.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      while poll(&status, 1, 0) == 1, status.revents & Int16(POLLIN) != 0 {
        read.append(pipe.fileHandleForReading.availableData)
      }
      return read
    }
  }

  var lines: [String] { String(decoding: takeAvailable(), as: UTF8.self).split(separator: "\n").map(String.init) }
}

@Suite("Lines on standard error", .timeLimit(.minutes(10)))
struct StandardErrorTests {
  private func event(_ text: String, level: TelemetryEvent.Level = .error) -> TelemetryEvent {
    var event = TelemetryEvent(
      .dead, library: "DurableOperations", subject: "send", level: level, time: Date(timeIntervalSince1970: 1.5))
    event.source = "jobs.sqlite"
    event.name = "a \"name\""
    event.id = 7
    event.parentID = 3
    event.attempt = 2
    event.duration = .milliseconds(1250)
    event.error = TestError(text)
    return event
  }

  @Test("A line of JSON is read as what it was made of, whatever is in it, and has nothing that a terminal obeys")
  func json_isReadBack() throws {
    let text = "line\nnext\ttab \u{1B}[31m \u{2028} \\ \" é 👍🏽 \u{202E}"
    let line = event(text).jsonLine
    #expect(line.unicodeScalars.allSatisfy { !HarmlessText.isEscapedInJSON($0) })
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(object["time"] as? String == "1970-01-01T00:00:01.500Z")
    #expect(object["level"] as? String == "error")
    #expect(object["library"] as? String == "DurableOperations")
    #expect(object["source"] as? String == "jobs.sqlite")
    #expect(object["event"] as? String == "dead")
    #expect(object["subject"] as? String == "send")
    #expect(object["name"] as? String == "a \"name\"")
    #expect(object["id"] as? Int == 7)
    #expect(object["parent"] as? Int == 3)
    #expect(object["attempt"] as? Int == 2)
    #expect(object["duration"] as? Double == 1.25)
    #expect(object["error"] as? String == "test error \(text)")
    #expect(object.count == 12)
  }

  @Test("What is not known is left out")
  func json_leavesOutWhatIsNil() throws {
    let line = TelemetryEvent(.added, library: "Tests", subject: "send").jsonLine
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(Set(object.keys) == ["time", "level", "library", "event", "subject"])
  }

  @Test("A line of text says all in one line")
  func text_isOneLine() {
    #expect(
      event("it\nfailed").textLine
        == "1970-01-01T00:00:01.500Z error DurableOperations (jobs.sqlite) dead: send 7 “a \"name\"” in 3, attempt 2, "
        + "after 1.25 s: test error it failed")
  }

  @Test("Events are written when receive returns, and those below the level are not")
  func receive_writesAtOnce() {
    let pipe = TestPipe()
    let sink = StandardErrorSink(level: .warning, json: true, writer: LineWriter(descriptor: pipe.writer))
    sink.receive(event("1"))
    #expect(pipe.lines.count == 1)
    sink.receive(event("2", level: .info))
    sink.receive(event("3", level: .warning))
    #expect(pipe.lines.count == 2)
  }

  @Test("Where nothing reads, no thread waits; what there is room for comes later, in order, and the rest is counted")
  func fullPipe_holdsNoThreadUp() async throws {
    let pipe = TestPipe()
    let writer = LineWriter(descriptor: pipe.writer, capacity: 10_000)
    let padding = String(repeating: "x", count: 1000)
    for number in 0..<1000 { writer.write("\(number) \(padding)") }
    await until(pipe.lines.last?.hasPrefix("OperationTelemetry: ") == true)
    let lines = pipe.lines
    let numbers = lines.dropLast().map { Int($0.prefix { $0 != " " }) ?? -1 }
    #expect(numbers == Array(0..<numbers.count))
    #expect(lines.dropLast().allSatisfy { $0.hasSuffix(" \(padding)") })
    #expect(
      lines.last
        == "OperationTelemetry: \(1000 - numbers.count) events were not written, because nothing read standard error.")
    writer.write("further")
    await until(pipe.lines.last == "further")
  }

  @Test("Lines of many threads are whole, and none is lost")
  func manyThreads_writeWholeLines() async throws {
    let pipe = TestPipe()
    let writer = LineWriter(descriptor: pipe.writer)
    let padding = String(repeating: "y", count: 300)
    await withTaskGroup { group in
      for thread in 0..<8 {
        group.addTask { for number in 0..<100 { writer.write("\(thread)-\(number)-\(padding)") } }
      }
    }
    await until(pipe.lines.count == 800)
    let lines = pipe.lines
    #expect(lines.allSatisfy { $0.hasSuffix("-\(padding)") })
    for thread in 0..<8 {
      let numbers = lines.filter { $0.hasPrefix("\(thread)-") }.compactMap { Int($0.split(separator: "-")[1]) }
      #expect(numbers == Array(0..<100))
    }
  }

  @Test("Where the other end is gone, lines are dropped")
  func closedPipe_dropsLines() throws {
    let pipe = TestPipe()
    try pipe.pipe.fileHandleForReading.close()
    let writer = LineWriter(descriptor: pipe.writer)
    for _ in 0..<100 { writer.write("nothing reads this") }
  }

  @Test("A queue of lines has one writer at a time, and goes on where there was no room")
  func lineQueue_hasOneWriter() {
    var queue = LineQueue(capacity: 4)
    let hasWriter = [queue.enqueue([1, 2]), queue.enqueue([3])]
    #expect(hasWriter == [true, false])
    var written = [queue.next()]
    let isNew = queue.enqueue([4, 5])
    queue.putBack([2])
    let hasRoom = queue.enqueue([6, 7])
    #expect(!isNew && !hasRoom)
    for _ in 0..<3 { written.append(queue.next()) }
    #expect(written == [[1, 2], [2], [3], [4, 5]])
    let report = queue.next()
    #expect(report?.starts(with: "OperationTelemetry: 1 event was not".utf8) == true)
    let end = queue.next()
    #expect(end == nil)
    let isWriterAgain = queue.enqueue([8, 9, 10, 11, 12])
    #expect(isWriterAgain)
  }

  @Test("That lines were dropped is said where they would stand, also if there is always a further line to write")
  func lineQueue_saysWhatIsMissingInItsPlace() {
    var queue = LineQueue(capacity: 4)
    _ = queue.enqueue([1, 2])
    _ = queue.enqueue([3, 4])
    _ = queue.enqueue([5])
    _ = queue.enqueue([6])
    var written = [queue.next()]
    _ = queue.enqueue([7])
    for _ in 0..<3 { written.append(queue.next()) }
    #expect(written[0] == [1, 2] && written[1] == [3, 4] && written[3] == [7])
    #expect(written[2]?.starts(with: "OperationTelemetry: 2 events".utf8) == true)
  }

  @Test("A queue of lines that is never empty does not keep the places of those that were taken")
  func lineQueue_neverEmpty_doesNotGrow() {
    var queue = LineQueue(capacity: 100)
    _ = queue.enqueue([0])
    for _ in 0..<100_000 {
      _ = queue.enqueue([1])
      _ = queue.next()
    }
    #expect(queue.lines.places.count < 10_000)
  }
}
