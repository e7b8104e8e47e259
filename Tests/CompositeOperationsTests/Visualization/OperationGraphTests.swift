import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("9 Drawings of operations", .hangLimit)
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
      "subgraph o1_group[\"parallel\"]", "o1[[\"both\"]]:::pending", "o2[\"one\"]:::pending",
      "subgraph o3_group[\"parallel\"]", "o3[[\"parallel\"]]:::pending", "o4[\"two\"]:::pending", "end",
      "o5[\"BlockOperation\"]:::pending", "end",
    ]
    #expect(nodes(composite.mermaid()) == pending)
    _ = try? await composite.run()
    var settled = pending.map { $0.replacingOccurrences(of: "pending", with: "finished") }
    for line in [1, 4, 5] { settled[line] = settled[line].replacingOccurrences(of: "finished", with: "failed") }
    #expect(nodes(composite.mermaid()) == settled)
    #expect(composite.dot().contains("subgraph cluster_o3 {"))
  }

  @Test func chain_isARowOfArrows() {
    let shared = succeeding(1, named: "shared")
    let zipped = zip(shared.map { $0 }.map { $0 }, shared)
    #expect(
      nodes(zipped.mermaid()) == [
        "subgraph o1_group[\"zip\"]", "o1[[\"zip\"]]:::pending", "o2[\"map\"]:::pending", "o3[\"map\"]:::pending",
        "o4[\"shared\"]:::pending", "o3 --> o2", "o4 --> o3", "end",
      ])
  }

  @Test func sequence_showsTheCurrentOperation() async {
    let held = HeldOperation<Int>("held")
    let sequence = CompositeOperation(sequence: LinearSequence({ _ in succeeding(1) }, { _ in held }))
    await onWorker { sequence.start() }
    await held.started.wait()
    #expect(
      nodes(sequence.mermaid()) == [
        "subgraph o1_group[\"sequence\"]", "o1[[\"sequence\"]]:::executing", "e1{{\"1 earlier operation\"}}:::finished",
        "o2[\"held\"]:::executing", "e1 --> o2", "end",
      ])
    held.finish(with: 1)
    await finished(sequence)
  }

  @Test func drawing_ofLeaf_isOneNode() {
    #expect(nodes(BlockOperation {}.mermaid()) == ["o1[\"BlockOperation\"]:::pending"])
    let hostile = succeeding(1, named: "a\"]:::x\nend")
    #expect(nodes(hostile.mermaid()) == ["o1[\"a#quot;]:::x<br/>end\"]:::pending"])
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
