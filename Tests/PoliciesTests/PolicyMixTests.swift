import Foundation
import OperationTimelines
import TestSupport
import Testing

@testable import CompositeOperations

/// All policies in one tree: timeouts, deadlines, retries, delays, rounds, conditions, categories,
/// limits, a breaker, observers that interfere, suspensions and a recorder, in composites and
/// typed compositions, and on queues that change, with cancels at random.
///
/// One seed is one world of a few trees. A failure prints it; `POLICY_SEED=… swift test --filter
/// PolicyMix` runs that world alone, `POLICY_REPEATS` times (100 by default), because the seed does
/// not determine the threads.
@Suite("8 Random mixes of all policies", .serialized, .hangLimit)
struct PolicyMixTests {
  private static let environment = ProcessInfo.processInfo.environment

  @Test func mixes_ofAllPolicies_settleOnce() async {
    let seeds: [UInt64]
    if let given = Self.environment["POLICY_SEED"].flatMap({ UInt64($0) }) {
      seeds = Array(repeating: given, count: Self.environment["POLICY_REPEATS"].flatMap { Int($0) } ?? 100)
    } else {
      let first = UInt64.random(in: 0..<1 << 62)
      seeds = (0..<Scale.count(3_000, least: 100)).map { first &+ UInt64($0) }
    }
    var operations = 0
    for seed in seeds {
      let (count, complaints) = await PolicyMixTests.run(seed)
      operations += count
      for complaint in complaints { Issue.record("seed \(seed): \(complaint)") }
      if !complaints.isEmpty { return }
    }
    print("\(seeds.count) mixes of policies from seed \(seeds[0]) on, \(operations) operations")
  }

  /// Runs one world. Returns how many operations there were, and what is wrong.
  private static func run(_ seed: UInt64) async -> (Int, [String]) {
    var random = SeededRandomNumberGenerator(seed: seed)
    var complaints: [String] = []
    let references: [WeakReference<SimpleOperation<Int>>]
    let registry: ExclusionRegistry
    do {
      let world = PolicyMixWorld(seed: seed)
      registry = world.registry
      let mixes = (0..<random.number(1...4)).map { _ in PolicyMix.random(random.number(1...4), &random) }
      let token = StallReporter.shared.began {
        "seed \(seed) of PolicyMixTests: " + world.unfinished.joined(separator: "\n") + "\n\(mixes)"
      }
      let recorder = TimelineRecorder()
      let roots = mixes.map { PolicyMixBuilder(world: world).operation($0) }
      for root in roots where random.chance(50) { recorder.attach(to: root) }
      begin(roots, in: world, &random)
      await drive(world, roots, cancels: random.number(0...4), suspensions: random.number(0...3))
      // An operation that other code settled may still be making an attempt, which is cancelled;
      // observers may still be running.
      if !(await Patience.reached { world.isOver && world.complaints.isEmpty }) { complaints = world.complaints }
      await world.clock.waitUntilIdle()
      let keeper = Timekeeper.of(world.clock)
      if !(await Patience.reached { keeper.pendingCount == 0 }) { complaints.append("timers are left") }
      if !(await Patience.reached { recorder.timeline.entries.allSatisfy { $0.settled != nil } }) {
        complaints.append("settlements are missing in\n\(recorder.timeline.textTree())")
      }
      references = world.references
      world.forget()
      StallReporter.shared.ended(token)
    }
    if !(await registry.reaches(isUnused: true)) { complaints.append("the registry remembers something") }
    if !(await Patience.reached { references.allSatisfy { $0.object == nil } }) {
      let left = references.compactMap { $0.object.map { "\($0)" } }
      complaints.append("not released: \(left.joined(separator: ", "))")
    }
    return (references.count, complaints)
  }

  private static func begin(
    _ roots: [SimpleOperation<Int>], in world: PolicyMixWorld, _ random: inout SeededRandomNumberGenerator
  ) {
    // An operation that was itself added to a queue keeps its slot while it waits for a category: a
    // slot that no other needs.
    let queue = OperationQueue(limit: random.number(1...4))
    // Nothing runs until all are in the queue: an operation that other code settled cannot be
    // added.
    queue.isSuspended = true
    defer { queue.isSuspended = false }
    var starts: [@Sendable () -> Void] = []
    for root in roots {
      switch random.number(0...9) {
      case 0..<5: starts.append { root.start() }
      case 5..<7: queue.addOperation(root)
      default:
        let around = CompositeOperation(operations: [root], operationQueue: random.pick(world.queues))
        starts.append { around.start() }
      }
    }
    for start in starts { DispatchQueue.global().async(execute: start) }
  }

  /// Moves the clock, cancels and suspends until all has ended.
  private static func drive(
    _ world: PolicyMixWorld, _ roots: [SimpleOperation<Int>], cancels: Int, suspensions: Int
  ) async {
    var (cancels, suspensions) = (cancels, suspensions)
    while !world.isOver {
      if cancels > 0, world.chance(10) {
        cancels -= 1
        world.cancelAny()
      }
      if world.chance(5) { world.changeAnyQueue() }
      if suspensions > 0, world.chance(10) {
        suspensions -= 1
        world.suspendAny()
      } else if world.chance(20) {
        world.resumeAll()
      }
      if world.chance(30) { world.clock.advanceToNextSleeper() }
      if roots.allSatisfy(\.isFinished) { world.startWhatIsLeft() }
      await onWorker {}
    }
    world.resumeAll()
  }
}
