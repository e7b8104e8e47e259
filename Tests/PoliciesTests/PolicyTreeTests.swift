import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Timeouts, deadlines, delays and retries, nested at random in each other and in composites with
/// and without queues.
@Suite("8 Random trees of policies", .serialized, .hangLimit)
struct PolicyTreeTests {
  /// Runs a tree on its own clock, advanced from one deadline to the next, and returns what is
  /// wrong.
  private static func run(_ tree: PolicyTree, cancellingAfter steps: Int?) async -> String? {
    let builder = PolicyTreeBuilder()
    let root = builder.operation(tree)
    let spy = CompletionSpy<Int>()
    root.completion = spy.completion
    await onWorker { root.start() }
    let horizon = ManualClock.Instant(offset: PolicyTreeBuilder.farAway)
    var step = 0
    while !root.isFinished {
      if step == steps { root.cancel() }
      step += 1
      // Distant timeouts belong to work that ends by itself.
      if let next = builder.clock.nextDeadline, next < horizon { builder.clock.advance(to: next) }
      await Task.yield()
    }
    let outcome = await settled(root)
    // Cancelled work may still be winding down.
    await builder.clock.waitUntilIdle()
    let isRight =
      switch (outcome, tree.ending) {
      case (.success, .success), (.failure, .failure), (.cancelled, .cancelled): true
      case (.cancelled, _): steps != nil
      default: false
      }
    return complaint("\(outcome) instead of \(tree.ending)", unless: isRight)
      ?? complaint("\(spy.count) completions", unless: spy.count == 1)
      ?? complaint("\(builder.complaints.events)", unless: builder.complaints.count == 0)
  }

  @Test(arguments: [false, true])
  func randomTrees_settleAsTheyMust(cancels: Bool) async {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandomNumberGenerator(seed: seed)
    for number in 0..<Scale.count(3_000, least: 100) {
      let tree = PolicyTree.random(random.number(1...5), &random)
      let steps = cancels ? random.number(0...60) : nil
      if let complaint = await PolicyTreeTests.run(tree, cancellingAfter: steps) {
        Issue.record("seed \(seed), tree \(number): \(complaint)\n\(tree)")
      }
    }
  }
}
