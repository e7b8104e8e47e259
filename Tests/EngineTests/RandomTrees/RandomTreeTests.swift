import Foundation
import TestSupport
import Testing

/// Random trees of operations, run and compared with the model.
///
/// One seed is one tree. A failure prints the seed and the tree; `TREE_SEED=… swift test --filter
/// RandomTreeTests` runs that tree alone, `TREE_REPEATS` times (100 by default), because the seed
/// does not determine the threads.
@Suite(.serialized)
struct RandomTreeTests {
  @Test func randomTrees_withFailuresDelaysAndCancels_comeToWhatTheModelSays() async {
    if let seed = TreeSeed.given, TreeSeed.shrinks {
      var complaints: [String] = []
      let shrunk = await TreeShrinker.shrink(TreeGenerator.plan(seed: seed)) { plan in
        for _ in 0..<TreeSeed.repeats {
          let report = await TreeRunner.run(plan)
          guard report.complaints.isEmpty else {
            complaints = report.complaints
            return true
          }
        }
        return false
      }
      Issue.record("\(complaints.joined(separator: "\n"))\n\(shrunk)")
      return
    }
    if let seed = TreeSeed.given {
      _ = await run(Array(repeating: seed, count: TreeSeed.repeats))
      return
    }
    let first = UInt64.random(in: 0..<1 << 62)
    let count = Scale.count(10_000)
    let coverage = await run((0..<count).map { first &+ UInt64($0) })
    print(coverage.rows(metLessThan: .max).joined(separator: "\n"))
    if count >= 10_000 {
      let missed = coverage.rows(metLessThan: 100)
      #expect(missed.isEmpty, "rows met less than 100 times: \(missed.joined(separator: "; "))")
    }
  }

  /// Runs the trees of `seeds`, two at a time.
  private func run(_ seeds: [UInt64]) async -> TreeCoverage {
    var coverage = TreeCoverage()
    var nodes = 0
    var certain = 0
    await withTaskGroup(of: (TreePlan, TreeReport).self) { group in
      var rest = seeds[...]
      for seed in rest.prefix(2) { group.addTask { await RandomTreeTests.run(seed) } }
      rest = rest.dropFirst(2)
      for await (plan, report) in group {
        coverage.add(report.rows)
        nodes += report.nodeCount
        certain += report.certainCount
        if !report.complaints.isEmpty {
          Issue.record("\(report.complaints.joined(separator: "\n"))\n\(plan)")
        }
        if let seed = rest.popFirst() { group.addTask { await RandomTreeTests.run(seed) } }
      }
    }
    print("\(seeds.count) random trees, \(nodes) operations, \(certain) of them with one certain outcome")
    return coverage
  }

  private static func run(_ seed: UInt64) async -> (TreePlan, TreeReport) {
    let plan = TreeGenerator.plan(seed: seed)
    return (plan, await TreeRunner.run(plan))
  }
}

/// The settings from the environment.
enum TreeSeed {
  /// `TREE_SEED`: the one tree to run.
  static let given = ProcessInfo.processInfo.environment["TREE_SEED"].flatMap { UInt64($0) }
  /// `TREE_REPEATS`: how often.
  static let repeats = ProcessInfo.processInfo.environment["TREE_REPEATS"].flatMap { Int($0) } ?? 100

  /// `TREE_SHRINK`: whether to look for a smaller tree that fails too.
  static let shrinks = ProcessInfo.processInfo.environment["TREE_SHRINK"] != nil

  static var isGiven: Bool { given != nil }
}
