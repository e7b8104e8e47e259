import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing
import WorkflowOperations

/// Drawings and descriptions.
@Suite("4 Rendering", .timeLimit(.minutes(30)))
struct RenderingTests {
  private func order() async -> Workflow {
    let workflow = Workflow("Order \"7\"")
    let bad = workflow.addScripted("a \"b\" <c> #1 & `d`\n\\e", [.failure(TestError.first)])
    let inner = Workflow("Inner")
    let first = inner.addEmpty("first")
    inner.addEmpty("second", after: first)
    _ = workflow.addSubworkflow("sub", inner)
    let condition = workflow.addCondition("photo", of: Int.self)
    condition.cancel()
    _ = workflow.add("last", keyed: ["the \"key\"": bad], unkeyed: [condition]) { _ in succeeding(1) }
    _ = workflow.addSubworkflow("empty", Workflow("Empty"))
    _ = await workflow.outcomeOfRun()
    return workflow
  }

  @Test("Mermaid: shapes for kinds, classes for states, names escaped")
  func mermaid_showsKindsAndStates() async {
    #expect(
      await order().mermaid() == """
        flowchart TD
          t1["a #quot;b#quot; #lt;c#gt; #35;1 #amp; #96;d#96;<br/>#92;\u{FEFF}e"]:::failed
          subgraph t2["sub · Inner"]
            t2_1["first"]:::finished
            t2_2["second"]:::finished
            t2_1 --> t2_2
          end
          class t2 finished
          t3{{"photo"}}:::cancelled
          t4["last"]:::pending
          t5[["empty"]]:::finished
          t1 -->|"the #quot;key#quot;"| t4
          t3 --> t4
          classDef pending fill:#eceff1,stroke:#90a4ae,color:#212121
          classDef ready fill:#e3f2fd,stroke:#1e88e5,color:#212121
          classDef executing fill:#fff8e1,stroke:#ffb300,color:#212121
          classDef finished fill:#e8f5e9,stroke:#43a047,color:#212121
          classDef failed fill:#ffebee,stroke:#e53935,color:#212121
          classDef cancelled fill:#f3e5f5,stroke:#8e24aa,color:#212121

        """)
  }

  @Test("DOT: the same, with clusters")
  func dot_showsKindsAndStates() async {
    #expect(
      await order().dot() == #"""
        digraph "Order \"7\"" {
          node [shape=box, style="rounded,filled", fontname="sans-serif"];
          compound=true;
          t1 [label="a \"b\" <c> #1 &amp; `d`\n\\e", tooltip="failed", fillcolor="#ffebee", color="#e53935"];
          subgraph cluster_t2 {
            label="sub · Inner"; tooltip="finished"; style="rounded,filled"; fillcolor="#e8f5e9"; color="#43a047";
            t2_1 [label="first", tooltip="finished", fillcolor="#e8f5e9", color="#43a047"];
            t2_2 [label="second", tooltip="finished", fillcolor="#e8f5e9", color="#43a047"];
            t2_1 -> t2_2;
          }
          t3 [label="photo", tooltip="cancelled", fillcolor="#f3e5f5", color="#8e24aa", shape=hexagon, style=filled];
          t4 [label="last", tooltip="pending", fillcolor="#eceff1", color="#90a4ae"];
          t5 [label="empty", tooltip="finished", fillcolor="#e8f5e9", color="#43a047", peripheries=2];
          t1 -> t4 [label="the \"key\""];
          t3 -> t4;
        }

        """#)
  }

  @Test("Entities are shown as they were written, and control characters, which end a drawing or a line, are replaced")
  func drawings_ofStrangeNames_areWhole() {
    let workflow = Workflow("control \0")
    workflow.add("&beta;\0\u{1B}\tend") { succeeding(1) }
    #expect(workflow.dot().contains("t1 [label=\"&amp;beta;\u{FFFD}\u{FFFD} end\","))
    #expect(workflow.mermaid().contains("t1[\"#amp;beta;\u{FFFD}\u{FFFD} end\"]"))
    #expect(!workflow.dot().contains("\0"))
  }

  @Test("An accent after a quotation mark does not keep it from being escaped")
  func drawings_ofAccentedQuotationMarks_areWhole() {
    let workflow = Workflow("Order")
    workflow.add("a\"\u{301}b\r\nc") { succeeding(1) }
    #expect(workflow.dot().contains("t1 [label=\"a\\\"\u{301}b\\nc\","))
    #expect(workflow.mermaid().contains("t1[\"a#quot;\u{301}b<br/>c\"]"))
  }

  @Test("Descriptions tell names, states, attempts and errors; each task once")
  func descriptions_areReadable() async {
    let workflow = Workflow("Order")
    let bad = workflow.addScripted("bad", [.failure(TestError.first)])
    let after = workflow.addEmpty("after", after: bad)
    #expect("\(workflow)" == "<Workflow “Order”: 2 tasks (1 pending, 1 ready)>")
    _ = await workflow.outcomeOfRun()
    #expect("\(workflow)" == "<Workflow “Order”: 2 tasks (1 pending, 1 failed), failed>")
    #expect("\(bad)" == "<WorkflowTask<Int> “bad”: failed, attempt 1, test error first>")
    #expect(after.debugDescription == "<WorkflowTask<()> “after”: pending, after “bad”>")
    #expect(
      workflow.debugDescription == """
        <Workflow “Order”: 2 tasks (1 pending, 1 failed), failed>
          bad: failed, attempt 1, test error first
          after: pending, after bad
        """)
    #expect("\(Workflow())" == "<Workflow “workflow”: 0 tasks>")
  }

  @Test("In a layered graph, where paths are beyond counting, a task is described once; an error on one line")
  func descriptions_ofLayeredGraph_areLinear() async {
    let workflow = Workflow("Layers")
    let inner = Workflow("Inner")
    inner.addScripted("bad", [.failure(TestError.first)])
    var layer: [AnyWorkflowTask] = [workflow.addSubworkflow("inner", inner)]
    for _ in 0..<40 { layer = (0..<4).map { _ in workflow.add(unkeyed: layer) { _ in succeeding(1) } } }
    _ = await workflow.outcomeOfRun()
    let lines = workflow.debugDescription.split(separator: "\n")
    #expect(lines.count == 162)
    #expect(lines[1].hasPrefix("  inner: failed, attempt 1, The workflow “Inner” failed: 1 of its tasks failed."))
    #expect(lines[161] == "  task 161: pending, after task 154, task 155, task 156, task 157")
    #expect(!workflow.tasks[0].description.contains("\n"))
    #expect(layer[0].debugDescription.contains("after “task 154”, “task 155”, “task 156”, “task 157”>"))
  }
}
