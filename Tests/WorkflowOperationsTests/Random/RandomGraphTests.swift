import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Random graphs, run for real and compared with a model that does one thing after the other.
///
/// `GRAPH_SEED=…` runs one graph alone, many times; `STRESS_SCALE` multiplies the number of graphs.
@Suite("4 Random graphs", .serialized, .timeLimit(.minutes(30)))
struct RandomGraphTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seed = environment["GRAPH_SEED"].flatMap { UInt64($0) }

  @Test("They come to what the model says, after a run and after every further verb and run")
  func randomGraphs_withVerbsBetweenRuns_agreeWithTheModel() async {
    let first = RandomGraphTests.seed ?? UInt64.random(in: 0..<1 << 60)
    let count = RandomGraphTests.seed == nil ? Scale.count(3_000, least: 20) : 200
    for number in 0..<count {
      let seed = RandomGraphTests.seed == nil ? first + UInt64(number) : first
      let complaints = await RandomGraph(seed: seed).runAndCompare()
      guard complaints.isEmpty else {
        Issue.record("GRAPH_SEED=\(seed)\n\(complaints.joined(separator: "\n"))")
        return
      }
    }
  }

  @Test("Verbs from other threads at any moment: nothing hangs, and in the end it agrees with the model")
  func randomGraphs_withVerbsAtAnyMoment_settle() async {
    let first = RandomGraphTests.seed ?? UInt64.random(in: 0..<1 << 60)
    for number in 0..<Scale.count(600, least: 20) {
      let complaints = await RandomGraph(seed: first + UInt64(number)).runWithVerbsAtAnyMoment()
      guard complaints.isEmpty else {
        Issue.record("GRAPH_SEED=\(first + UInt64(number))\n\(complaints.joined(separator: "\n"))")
        return
      }
    }
  }

  @Test("Verbs from other threads on a workflow and on those inside of it: nothing hangs, and then it runs to its end")
  func nestedWorkflows_withVerbsAtAnyMoment_settle() async {
    let first = RandomGraphTests.seed ?? UInt64.random(in: 0..<1 << 60)
    for number in 0..<Scale.count(300, least: 20) {
      let nest = RandomNest(seed: first + UInt64(number))
      await nest.useAtRandom()
      guard await nest.succeeds() else {
        Issue.record("GRAPH_SEED=\(first + UInt64(number))\n\(nest.description)")
        return
      }
    }
  }
}
