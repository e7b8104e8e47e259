import CompositeOperations
import OperationTelemetry
import TestSupport
import Testing

@Suite("Prometheus", .timeLimit(.minutes(10)))
struct PrometheusTests {
  private func event(
    _ kind: TelemetryEvent.Kind, _ subject: String = "upload", after duration: Duration? = nil
  ) -> TelemetryEvent {
    var event = TelemetryEvent(kind, library: "Tests", subject: subject)
    event.duration = duration
    return event
  }

  @Test("Events, durations and what executes are counted, and the text is as the format has it")
  func receive_countsAll() throws {
    let sink = PrometheusSink(buckets: [.milliseconds(500), .seconds(2)])
    for _ in 0..<3 { sink.receive(event(.started)) }
    sink.receive(event(.succeeded, after: .milliseconds(500)))
    sink.receive(event(.succeeded, after: .seconds(4)))
    let text = try PrometheusText(sink.text())
    let succeeded = ["library": "Tests", "subject": "upload", "event": "succeeded"]
    #expect(text.types["composite_operations_events_total"] == "counter")
    #expect(text.types["composite_operations_duration_seconds"] == "histogram")
    #expect(text.types["composite_operations_executing"] == "gauge")
    #expect(text.value("composite_operations_events_total", succeeded) == 2)
    #expect(text.value("composite_operations_executing", ["library": "Tests", "subject": "upload"]) == 1)
    let name = "composite_operations_duration_seconds"
    #expect(text.value(name + "_bucket", succeeded.merging(["le": "0.5"]) { $1 }) == 1)
    #expect(text.value(name + "_bucket", succeeded.merging(["le": "2"]) { $1 }) == 1)
    #expect(text.value(name + "_bucket", succeeded.merging(["le": "+Inf"]) { $1 }) == 2)
    #expect(text.value(name + "_sum", succeeded) == 4.5)
    #expect(text.value(name + "_count", succeeded) == 2)
  }

  @Test("What the format escapes is read as it was")
  func labels_areEscaped() throws {
    let subject = "a \"b\" \\ c\nd\\n é"
    let sink = PrometheusSink()
    sink.receive(event(.dead, subject))
    let text = try PrometheusText(sink.text())
    #expect(
      text.value("composite_operations_events_total", ["library": "Tests", "subject": subject, "event": "dead"]) == 1)
  }

  @Test("Further subjects are counted together, and what executes stays right")
  func manySubjects_areCountedTogether() throws {
    let sink = PrometheusSink(maxSubjectCount: 2)
    for number in 0..<10 { sink.receive(event(.started, "subject \(number)")) }
    for number in 0..<10 { sink.receive(event(.succeeded, "subject \(number)", after: .seconds(1))) }
    let text = try PrometheusText(sink.text())
    let other = ["library": "Tests", "subject": "other"]
    #expect(text.value("composite_operations_executing", other) == 0)
    #expect(text.value("composite_operations_events_total", other.merging(["event": "started"]) { $1 }) == 8)
    #expect(Set(text.samples.compactMap { $0.labels["subject"] }).count == 3)
  }

  @Test("Many subjects of one library do not hide those of another")
  func manySubjectsOfOneLibrary_leaveThoseOfOthersApart() throws {
    let sink = PrometheusSink(maxSubjectCount: 2)
    for number in 0..<10 {
      sink.receive(TelemetryEvent(.started, library: "WorkflowOperations", subject: "task \(number)"))
    }
    sink.receive(TelemetryEvent(.dead, library: "DurableOperations", subject: "upload"))
    let dead = ["library": "DurableOperations", "subject": "upload", "event": "dead"]
    #expect(try PrometheusText(sink.text()).value("composite_operations_events_total", dead) == 1)
  }

  @Test("The number of series is bounded, whatever subjects, libraries and kinds a program makes up")
  func manyLibrariesAndKinds_areCountedTogether() throws {
    let sink = PrometheusSink(maxSubjectCount: 2)
    for number in 0..<1000 {
      sink.receive(TelemetryEvent(.started, library: "library \(number)", subject: "work"))
      sink.receive(TelemetryEvent(.init(rawValue: "kind \(number)"), library: "Tests", subject: "work"))
    }
    let text = try PrometheusText(sink.text())
    #expect(text.samples.count < 500)
    let counts = text.samples.filter { $0.name == "composite_operations_events_total" }.map(\.value)
    #expect(counts.reduce(0, +) == 2000)
  }

  @Test("Nothing counted is a text, too")
  func empty_isValid() throws {
    #expect(try PrometheusText(PrometheusSink().text()).samples.isEmpty)
  }

  @Test("Many threads count all")
  func manyThreads_countAll() async throws {
    let sink = PrometheusSink()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<500 { sink.receive(event(.started)) } }
      }
    }
    let text = try PrometheusText(sink.text())
    #expect(text.value("composite_operations_executing", ["library": "Tests", "subject": "upload"]) == 4000)
  }
}
