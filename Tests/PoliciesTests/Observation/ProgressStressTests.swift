import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Progress of many children on many threads, of random trees, and read at any moment.
@Suite(.serialized)
struct ProgressStressTests {
  @Test func progress_ofManyChildrenOnEightThreads_endsAtExactlyOne() async {
    let count = Scale.count(100_000, least: 2_000)
    let children = (0..<count).map { _ in SimpleOperation<Int> { _ in } }
    for child in children where Int.random(in: 0..<10) == 0 { child.progressWeight = .random(in: 0...3) }
    let composite = CompositeOperation(operations: children)
    let watch = Monotony(composite)
    composite.addObserver { watch.see($0) }
    let progress = composite.progress
    async let outcome = outcomeOfStarting(composite)
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          await onThread {
            for index in stride(from: thread, to: count, by: 8) {
              children[index].reportProgress(0.5)
              watch.look()
              children[index].finish(with: index)
            }
          }
        }
      }
    }
    _ = await outcome
    #expect(composite.fractionCompleted == 1)
    // The writing thread may be delayed in between, and no other waits for it.
    await until(progress.fractionCompleted >= 1)
    #expect(progress.isFinished)
    #expect(watch.complaints.isEmpty)
  }

  @Test func progress_ofRandomTrees_neverGoesBackAndEndsAtOne() async {
    for _ in 0..<Scale.count(1_000, least: 50) {
      let seed = UInt64.random(in: 0...UInt64.max)
      var random = SeededRandomNumberGenerator(seed: seed)
      let root = ProgressStressTests.tree(depth: random.number(1...4), &random)
      let watch = Monotony(root)
      if random.chance(50) { root.addObserver { watch.see($0) } }
      if random.chance(30) { _ = root.progress }
      let cancels = random.chance(20)
      let isOver = Gate()
      root.addObserver { if $0.kind == .settled { isOver.open() } }
      DispatchQueue.global().async { root.start() }
      if cancels { await onWorker { root.cancel() } }
      while !isOver.isOpen {
        watch.look()
        await Task.yield()
      }
      watch.look()
      #expect(watch.complaints.isEmpty, "seed \(seed)")
      #expect(cancels || root.fractionCompleted == 1, "seed \(seed)")
      await until(cancels || root.progress.fractionCompleted >= 1)
    }
  }

  @Test func asking_whileRunningAndSettling_givesNoWrongAnswer() async {
    let complaints = await Race.run(rounds: Scale.count(4_000, least: 100), threads: 3) { _, random in
      let children = (0..<4).map { _ in SimpleOperation<Int> { _ in } }
      let typed = zip(children[0], all(Array(children[1...])).map { $0.reduce(0, +) })
      let watch = Monotony(typed)
      DispatchQueue.global().async { typed.start() }
      let asksForProgress = random.chance(50)
      return Race.Round(bodies: [
        { for child in children { child.finish(with: 1) } },
        { for _ in 0..<5 { watch.look() } },
        {
          if asksForProgress { _ = typed.progress.fractionCompleted }
          typed.addObserver { watch.see($0) }
        },
      ]) {
        while !typed.isFinished { sched_yield() }
        watch.look()
        return watch.complaints.first
          ?? complaint("ends at \(typed.fractionCompleted)", unless: typed.fractionCompleted == 1)
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func suspending_whileRunning_losesNothing() async {
    for _ in 0..<Scale.count(400, least: 30) {
      var random = SeededRandomNumberGenerator(seed: .random(in: 0...UInt64.max))
      var composites: [CompositeOperation] = []
      let root = ProgressStressTests.tree(depth: 3, &random) { composites.append($0) }
      let all = composites
      let isOver = Gate()
      root.addObserver { if $0.kind == .settled { isOver.open() } }
      DispatchQueue.global().async { root.start() }
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask {
            for _ in 0..<5 {
              await onWorker { for composite in all { composite.isSuspended = true } }
              await onWorker { for composite in all { composite.isSuspended = false } }
            }
          }
        }
      }
      await onWorker { for composite in all { composite.isSuspended = false } }
      await isOver.wait()
      #expect(root.fractionCompleted == 1)
    }
  }

  private static func tree(
    depth: Int, _ random: inout SeededRandomNumberGenerator, _ note: (CompositeOperation) -> Void = { _ in }
  ) -> SettlingOperation {
    guard depth > 0 else {
      let hops = random.chance(40)
      let leaf = SimpleOperation<Int> { operation in
        operation.reportProgress(0.5)
        if hops {
          DispatchQueue.global().async {
            operation.reportProgress(0.75)
            operation.finish(with: 1)
          }
        } else {
          operation.finish(with: 1)
        }
      }
      if random.chance(30) { leaf.progressWeight = Double(random.number(0...5)) }
      return leaf
    }
    var children: [Operation] = []
    for _ in 0..<random.number(1...4) { children.append(tree(depth: depth - 1, &random, note)) }
    let shape = random.number(0...4)
    let composite: CompositeOperation
    switch shape {
    case 0: composite = CompositeOperation(sequence: ListSequence(children))
    case 1:
      composite = CompositeOperation(
        sequence: LinearSequence(steps: children.map { step in { @Sendable _ in step } }))
    default: composite = CompositeOperation(operations: children)
    }
    note(composite)
    switch shape {
    case 2: return random.chance(50) ? composite.map { $0.count } : composite.then { succeeding($0.count) }
    case 3:
      composite.maxConcurrentOperationCount = 1
      return zip(composite, succeeding(1))
    default: return composite
    }
  }
}

/// Checks that a fraction stays within its bounds and never decreases.
private final class Monotony: Sendable {
  private struct State {
    var complaints: [String] = []
    var told = 0.0
  }

  private let operation: WeakReference<SettlingOperation>
  private let state = Locked(State())

  init(_ operation: SettlingOperation) {
    self.operation = WeakReference(operation)
  }

  var complaints: [String] { state.withLock { $0.complaints } }

  func see(_ event: OperationEvent) {
    guard let fraction = event.fractionCompleted else { return }
    state.withLock { state in
      if fraction <= state.told || fraction > 1 { state.complaints.append("told \(fraction) after \(state.told)") }
      state.told = fraction
    }
  }

  /// Reads twice, on this thread.
  func look() {
    guard let operation = operation.object else { return }
    let first = operation.fractionCompleted
    let second = operation.fractionCompleted
    if first < 0 || second < first || second > 1 { state.withLock { $0.complaints.append("\(first), then \(second)") } }
  }
}
