import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Several trees at the same time, with categories and conditions at any place, in queues that they
/// share.
@Suite("8 Mutual exclusion in random trees", .hangLimit)
struct ExclusionTreeTests {
  /// The holders of each category: the number of the outermost operation that holds it.
  private final class Watch: Sendable {
    private struct State {
      var running: [ExclusionCategory: [Int: Int]] = [:]
      var complaints: [String] = []
    }

    private let state = Locked(State())
    let limits: [ExclusionCategory: Int]

    init(limits: [ExclusionCategory: Int]) { self.limits = limits }

    func enter(_ holders: [ExclusionCategory: Int]) {
      state.withLock { state in
        for (category, holder) in holders {
          state.running[category, default: [:]][holder, default: 0] += 1
          let count = state.running[category]!.count
          if count > limits[category] ?? 1 { state.complaints.append("\(category) is held by \(count)") }
        }
      }
    }

    func leave(_ holders: [ExclusionCategory: Int]) {
      state.withLock { state in
        for (category, holder) in holders {
          state.running[category]![holder]! -= 1
          if state.running[category]![holder] == 0 { state.running[category]![holder] = nil }
        }
      }
    }

    var complaints: [String] { state.withLock { $0.complaints } }
  }

  /// Makes one world of trees.
  private struct Builder {
    var random: SeededRandomNumberGenerator
    let registry = ExclusionRegistry()
    let queues: [OperationQueue]
    let watch: Watch
    var lastNumber = 0
    var operations: [Operation] = []
    static let categories: [ExclusionCategory] = ["a", "b", "c"]

    init(seed: UInt64) {
      random = SeededRandomNumberGenerator(seed: seed)
      queues = (1...4).map { OperationQueue(limit: $0) }
      var limits: [ExclusionCategory: Int] = [:]
      for category in Builder.categories where random.chance(40) { limits[category] = random.number(2...3) }
      for (category, limit) in limits { registry.setLimit(limit, for: category) }
      watch = Watch(limits: limits)
    }

    mutating func tree(depth: Int, inside holders: [ExclusionCategory: Int] = [:]) -> SimpleOperation<Void> {
      var holders = holders
      var wanted: [ExclusionCategory] = []
      if random.chance(45) { wanted = (0..<random.number(1...2)).map { _ in random.pick(Builder.categories) } }
      lastNumber += 1
      for category in wanted where holders[category] == nil { holders[category] = lastNumber }
      var operation = inner(depth: depth, inside: holders)
      let hasCondition = random.chance(15)
      let isFirst = random.chance(50)
      if hasCondition, isFirst { operation = operation.condition(condition()) }
      if !wanted.isEmpty { operation = operation.exclusive(wanted, in: registry) }
      if hasCondition, !isFirst { operation = operation.condition(condition()) }
      operations.append(operation)
      return operation
    }

    private mutating func condition() -> Condition {
      let isMet = random.chance(80)
      return Condition("sometimes") { _ in
        await Task.yield()
        return isMet
      }
    }

    private mutating func inner(depth: Int, inside holders: [ExclusionCategory: Int]) -> SimpleOperation<Void> {
      guard depth > 0 else { return leaf(inside: holders) }
      switch random.number(0...9) {
      case 0...1: return leaf(inside: holders)
      case 2...3:
        let (first, second) = (tree(depth: depth - 1, inside: holders), tree(depth: depth - 1, inside: holders))
        return first.then { _ in second }
      case 4...7:
        let children = children(depth, inside: holders)
        let queue = random.chance(60) ? random.pick(queues) : nil
        let composite = CompositeOperation(operations: children, operationQueue: queue)
        if random.chance(50) { composite.failurePolicy = .waitForAll }
        if random.chance(30) { composite.maxConcurrentOperationCount = random.number(1...2) }
        return composite.map { _ in }
      default:
        let children = children(depth, inside: holders)
        let queue = random.chance(60) ? random.pick(queues) : nil
        return CompositeOperation(sequence: ListSequence(children), operationQueue: queue).map { _ in }
      }
    }

    private mutating func children(_ depth: Int, inside holders: [ExclusionCategory: Int]) -> [Operation] {
      let children = (0..<random.number(1...4)).map { _ in tree(depth: depth - 1, inside: holders) }
      if children.count > 2, random.chance(20) { children[2].addDependency(children[0]) }
      return children
    }

    private mutating func leaf(inside holders: [ExclusionCategory: Int]) -> SimpleOperation<Void> {
      let watch = watch
      let kind = random.number(0...9)
      return SimpleOperation<Void> { operation in
        watch.enter(holders)
        let end: @Sendable () -> Void = {
          watch.leave(holders)
          if kind == 0 { operation.reject(with: TestError.first) } else { operation.finish() }
        }
        if kind < 5 { end() } else { DispatchQueue.global().async(execute: end) }
      }
    }
  }

  @Test(
    "Trees that hold and wait at every level settle, at any limit of their queues", arguments: 0..<6, [false, true])
  func trees_withCategoriesEverywhere_settle(batch: Int, cancels: Bool) async {
    for number in 0..<Scale.count(60, least: 15) {
      let seed = UInt64(batch * 100_000 + number)
      var builder = Builder(seed: seed)
      let roots = (0..<6).map { _ in builder.tree(depth: 3) }
      let victims = cancels ? (0..<6).map { _ in builder.random.pick(builder.operations) } : []
      // Each root is started by itself: none has a slot of a queue.
      for root in roots { DispatchQueue.global().async { root.start() } }
      for victim in victims { DispatchQueue.global().async { victim.cancel() } }
      for root in roots { _ = await settled(root) }
      #expect(builder.watch.complaints == [], "seed \(seed)")
      #expect(await builder.registry.reaches(isUnused: true), "seed \(seed)")
    }
  }

  @Test("Trees in one queue with slots of their own settle, too", arguments: 1...4)
  func trees_inOneQueue_settle(limit: Int) async {
    for number in 0..<Scale.count(60, least: 15) {
      var builder = Builder(seed: UInt64(limit * 1_000_000 + number))
      let queue = OperationQueue(limit: limit)
      let roots = (0..<6).map { _ in
        CompositeOperation(operations: [builder.tree(depth: 2)], operationQueue: queue)
      }
      queue.add(roots)
      for root in roots { _ = await settled(root) }
      #expect(builder.watch.complaints == [])
      #expect(await builder.registry.reaches(isUnused: true))
    }
  }

  @Test func race_ofCancelGrantAndRelease_keepsTheRegistryRight() async {
    let registry = ExclusionRegistry()
    let complaints = await Race.run(rounds: Scale.count(3_000, least: 500), threads: 3) { _, random in
      let operations = (0..<3).map { _ in succeeding(1).exclusive("x", in: registry) }
      let cancelled = random.pick(operations)
      let done = Gate()
      let count = Locked(0)
      for operation in operations { operation.completion = { _ in if count.increment() == 3 { done.open() } } }
      return Race.Round(
        bodies: [
          { for operation in operations[..<2] { operation.start() } }, { operations[2].start() },
          { cancelled.cancel() },
        ],
        check: {
          done.waitBlocking()
          // The last operation may still be concluding.
          while !registry.isUnused { sched_yield() }
          let isRight = operations.allSatisfy { $0.outcome?.value != nil || $0 === cancelled }
          return complaint("\(operations)", unless: isRight)
        })
    }
    #expect(complaints == [])
  }

  @Test func manyWaiters_oneAfterTheOther_settle() async {
    let registry = ExclusionRegistry()
    let count = Scale.count(20_000, least: 5_000)
    let operations = (0..<count).map { succeeding($0).exclusive("x", in: registry) }
    #expect(await outcomeOfStarting(all(operations)).value == Array(0..<count))
    #expect(registry.isUnused)
  }

  @Test("Many that wait for a category, while those that hold it wait inside for another one")
  func manyWaiters_andWaitersInside_settle() async {
    let registry = ExclusionRegistry()
    registry.setLimit(2, for: "outer")
    let count = Scale.count(5_000, least: 1_000)
    let operations = (0..<count).map { number in
      AsyncOperation {
        await Task.yield()
        return number
      }.exclusive("inner", in: registry).map { $0 }.exclusive("outer", in: registry)
    }
    #expect(await outcomeOfStarting(all(operations)).value == Array(0..<count))
    #expect(await registry.reaches(isUnused: true))
  }
}
