import CompositeOperations
import Foundation
import OperationTimelines
import PipelineOperations
import TestSupport
import Testing

@Suite("Observing pipelines", .timeLimit(.minutes(30)))
struct ObservingTests {
  @Test func manyObservers_areAllTold_inTheOrderInWhichTheyWereAdded() async {
    let log = EventRecorder<Int>()
    let operation = Pipeline(Add(1)).operation(for: 1)
    for number in 1...50 {
      operation.addObserver { event in if event.kind == .settled { log.record(number) } }
    }
    operation.start()
    await log.wait(forCount: 50)
    #expect(log.events == Array(1...50))
  }

  @Test func lastObserver_thatLeaves_cancelsARunThatIsSetToThat() async {
    let held = HeldStep()
    let operation = Pipeline(held).operation(for: 1)
    operation.cancelsWhenLastObserverLeaves = true
    let tokens = [operation.addObserver { _ in }, operation.addObserver { _ in }]
    operation.start()
    let step = await held.started()
    tokens[0].remove()
    #expect(!operation.isCancelled)
    tokens[1].remove()
    #expect(operation.isCancelled && step.isCancelled)
    #expect(await settled(operation).isCancelled)
  }

  @Test func steps_areToldAsChildren() async throws {
    let names = EventRecorder<String>()
    let operation = Pipeline(Add(1)).then(Add(2).named("second")).operation(for: 1)
    operation.addObserver { event in
      if let child = event.child { names.record(child.name ?? "none") }
    }
    _ = try await operation.run()
    #expect(names.events == ["Add", "second"])
  }

  @Test func drawing_showsTheSteps_alsoThoseToCome() async {
    let held = HeldStep("load")
    let operation = Pipeline(Add(1).named("first")).then(held).then(Add(1).named("last")).named("numbers")
      .operation(for: 1)
    #expect(
      nodes(operation) == [
        "subgraph o1[\"numbers · pipeline\"]", "s1_0[\"first\"]:::pending",
        "s1_1[\"load\"]:::pending", "s1_2[\"last\"]:::pending", "s1_0 --> s1_1", "s1_1 --> s1_2", "end",
        "class o1 pending",
      ])
    operation.start()
    let step = await held.started()
    #expect(
      nodes(operation) == [
        "subgraph o1[\"numbers · pipeline\"]", "s1_0[\"first\"]:::finished",
        "s1_2[\"last\"]:::pending", "o2[\"load\"]:::executing", "s1_0 --> o2", "o2 --> s1_2", "end",
        "class o1 executing",
      ])
    step.reject(with: TestError.first)
    _ = await settled(operation)
    #expect(
      nodes(operation) == [
        "subgraph o1[\"numbers · pipeline\"]", "s1_0[\"first\"]:::finished",
        "s1_1[\"load\"]:::failed", "s1_2[\"last\"]:::pending", "s1_0 --> s1_1", "s1_1 --> s1_2", "end",
        "class o1 failed",
      ])
  }

  @Test func drawing_ofACancelledPipeline_showsWhichStepWas() async {
    let held = HeldStep("load")
    let operation = Pipeline(Add(1)).then(held).then(Add(1)).operation(for: 1)
    operation.start()
    _ = await held.started()
    operation.cancel()
    _ = await settled(operation)
    #expect(nodes(operation).contains("s1_1[\"load\"]:::cancelled"))
    #expect(operation.dot().contains("load"))
    let unstarted = Pipeline(Add(1)).then(held).operation(for: 1)
    unstarted.cancel()
    unstarted.start()
    #expect(nodes(unstarted)[1...2] == ["s1_0[\"Add\"]:::cancelled", "s1_1[\"load\"]:::pending"])
  }

  @Test func drawing_ofAPipelineThatOthersSettled_showsNoCancelledStep() {
    let operation = Pipeline(Add(1)).then(Add(1)).operation(for: 1)
    #expect(operation.finish(with: 7))
    #expect(nodes(operation)[1...2] == ["s1_0[\"Add\"]:::pending", "s1_1[\"Add\"]:::pending"])
  }

  @Test func timeline_hasTheStepsByTheirNames() async throws {
    let recorder = TimelineRecorder()
    let inner = Pipeline(Add(1)).then(Add(2).named("two")).named("inner")
    let operation = Pipeline(Add(3).on(OperationQueue(limit: 1))).then(inner).operation(for: 1)
    recorder.attach(to: operation)
    _ = try await operation.run()
    await finished(operation)
    let entries = recorder.timeline.entries
    let titles = entries.map { entry in
      (entry.parent.flatMap { id in entries.first { $0.id == id } }.map { $0.title + "/" } ?? "") + entry.title
    }
    #expect(titles.sorted() == ["Add/Add", "inner/Add", "inner/two", "pipeline", "pipeline/Add", "pipeline/inner"])
    #expect(entries.first?.kind == .pipeline)
  }

  private func nodes(_ operation: Operation) -> [String] {
    operation.mermaid().split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.hasPrefix("classDef") && $0 != "flowchart TD" }
  }
}
