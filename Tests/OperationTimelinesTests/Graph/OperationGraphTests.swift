import Foundation
import OperationTimelines
import TestSupport
import Testing

@testable import CompositeOperations

@Suite("Drawings of operations", .hangLimit)
struct OperationGraphTests {
  private func nodes(_ mermaid: String) -> [String] {
    mermaid.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.hasPrefix("classDef") && $0 != "flowchart TD" }
  }

  @Test func composite_isABoxAroundItsChildren() async throws {
    let composite = CompositeOperation(operations: [
      succeeding(1, named: "one"), CompositeOperation(operations: [failing(TestError.first, named: "two")]),
      BlockOperation {},
    ])
    composite.name = "both"
    composite.failurePolicy = .waitForAll
    let pending = [
      "subgraph o1[\"both · parallel\"]", "o2[\"one\"]:::pending", "subgraph o3[\"parallel\"]", "o4[\"two\"]:::pending",
      "end", "class o3 pending", "o5[\"BlockOperation\"]:::pending", "end", "class o1 pending",
    ]
    #expect(nodes(composite.mermaid()) == pending)
    _ = try? await composite.run()
    var settled = pending.map { $0.replacingOccurrences(of: "pending", with: "finished") }
    for line in [3, 5, 8] { settled[line] = settled[line].replacingOccurrences(of: "finished", with: "failed") }
    #expect(nodes(composite.mermaid()) == settled)
    let dot = composite.dot()
    #expect(dot.contains("subgraph cluster_o3 {") && dot.contains("label=\"both · parallel\"; tooltip=\"failed\";"))
    #expect(!dot.contains("o1 ["), "The name of a composition is no child of it")
  }

  @Test("An arrow leads to the box of a composition, in both languages")
  func arrow_toAComposition_leadsToItsBox() {
    let inner = zip(succeeding(1, named: "a"), succeeding(2, named: "b"))
    let outer = inner.map { $0 + $1 }
    #expect(nodes(outer.mermaid()).last == "o2 --> o1")
    let dot = outer.dot()
    #expect(dot.contains("  compound=true;\n") && dot.contains("  o3 -> o1 [ltail=cluster_o2];\n"))
  }

  @Test("While a policy waits, its drawing says for what, and shows the work")
  func policy_thatWaits_showsForWhatAndTheWork() async {
    let registry = ExclusionRegistry()
    let holder = HeldOperation<Int>("holder")
    let holding = holder.exclusive("door", in: registry)
    await onWorker { holding.start() }
    await holder.started.wait()
    let waiting = succeeding(1, named: "work").exclusive("door", in: registry)
    await onWorker { waiting.start() }
    // It is in line as soon as it is started, and shows what it runs next when a slot came to it.
    #expect(await Patience.reached { waiting.mermaid().contains("waits for") })
    #expect(
      nodes(waiting.mermaid()) == [
        "subgraph o1[\"exclusive\"]", "o2{{\"waits for “door”\"}}:::executing", "o3[\"work\"]:::pending", "o2 --> o3",
        "end", "class o1 executing",
      ])
    holder.finish(with: 1)
    await finished(waiting)
  }

  @Test("No name is a directive or a comment of Mermaid")
  func mermaid_ofDirectives_showsThem() {
    #expect(
      nodes(succeeding(1, named: "a %%{init: {'theme': 'forest'}}%% b").mermaid())
        == ["o1[\"a #37;#37;{init: {'theme': 'forest'}}#37;#37; b\"]:::pending"])
    let composite = CompositeOperation(operations: [succeeding(1)])
    composite.name = "%%{init: {}}%%"
    #expect(!composite.mermaid().contains("%"))
  }

  @Test func chain_isARowOfArrows() {
    let shared = succeeding(1, named: "shared")
    let zipped = zip(shared.map { $0 }.map { $0 }, shared)
    #expect(
      nodes(zipped.mermaid()) == [
        "subgraph o1[\"zip\"]", "o2[\"map\"]:::pending", "o3[\"map\"]:::pending", "o4[\"shared\"]:::pending",
        "o3 --> o2", "o4 --> o3", "end", "class o1 pending",
      ])
  }

  @Test func sequence_showsTheCurrentOperation() async {
    let held = HeldOperation<Int>("held")
    let sequence = CompositeOperation(sequence: LinearSequence({ _ in succeeding(1) }, { _ in held }))
    await onWorker { sequence.start() }
    await held.started.wait()
    #expect(
      nodes(sequence.mermaid()) == [
        "subgraph o1[\"sequence\"]", "e1{{\"1 earlier operation\"}}:::finished", "o2[\"held\"]:::executing",
        "e1 --> o2",
        "end", "class o1 executing",
      ])
    held.finish(with: 1)
    await finished(sequence)
  }

  @Test func drawing_ofLeaf_isOneNode() {
    #expect(nodes(BlockOperation {}.mermaid()) == ["o1[\"BlockOperation\"]:::pending"])
    let hostile = succeeding(1, named: "a\"]:::x\nend")
    #expect(nodes(hostile.mermaid()) == ["o1[\"a#quot;]\u{2060}:::x<br/>end\"]:::pending"])
  }

  @Test func drawing_ofDeepTree_needsNoDeepStack() {
    var operation: any ComposableOperation = succeeding(1)
    for _ in 0..<10_000 { operation = CompositeOperation(operations: [operation]) }
    #expect(operation.mermaid().components(separatedBy: "subgraph").count == 25)
    var chain: SimpleOperation<Int> = succeeding(1)
    for _ in 0..<10_000 { chain = chain.map { $0 } }
    #expect(chain.mermaid().components(separatedBy: "-->").count == 10_001)
  }

  @Test func drawing_whileRunning_isSafe() async throws {
    for _ in 0..<50 {
      let operation = forEach(0..<50, maxConcurrent: 3) { number in
        succeeding(number).then { succeeding($0) }.map { $0 }
      }
      async let values = operation.run()
      while !operation.isFinished {
        #expect(operation.mermaid().hasPrefix("flowchart TD"))
        await Task.yield()
      }
      #expect(try await values == Array(0..<50))
    }
  }
}
