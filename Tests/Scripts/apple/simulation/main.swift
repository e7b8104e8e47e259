// Ends operations that wait in an OperationQueue, in each possible way, and tests the other
// differences of Apple platforms. The argument is the name of a scenario; without one, the names
// are printed. If all goes well only the last line is printed. Foundation writes its messages to
// standard error.
//
// simulate-darwin puts an import of the package's core above this.
import Dispatch
import Foundation

struct Refused: Error {}

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("\(message)\n".utf8))
  exit(1)
}

func expect(_ isTrue: Bool, _ message: @autoclosure () -> String) {
  if !isTrue { fail(message()) }
}

/// A value behind a lock.
final class Shared<Value>: @unchecked Sendable {  // guarded by the lock
  private let lock = NSLock()
  private var value: Value
  init(_ value: Value) { self.value = value }
  func withLock<R>(_ body: (inout Value) -> R) -> R { lock.withLock { body(&value) } }
}

/// Runs an async closure, and waits for it.
func wait<R: Sendable>(for body: @escaping @Sendable () async -> R) -> R {
  let result = Shared<R?>(nil)
  let ended = DispatchSemaphore(value: 0)
  Task.detached {
    let value = await body()
    result.withLock { $0 = value }
    ended.signal()
  }
  ended.wait()
  return result.withLock { $0! }
}

func text(_ outcome: Outcome<some Sendable>?) -> String {
  switch outcome {
  case nil: "nothing"
  case .success(let value): "success \(value)"
  case .failure(let error): "failure \(error)"
  case .cancelled: "cancelled"
  }
}

func suspendedQueue(limit: Int = 2) -> OperationQueue {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = limit
  queue.isSuspended = true
  return queue
}

func resume(_ queue: OperationQueue) {
  queue.isSuspended = false
  queue.waitUntilAllOperationsAreFinished()
}

// MARK: - Ended while they wait

/// Every second of 50 operations is ended while it waits in a queue, in 200 rounds.
func endWaiting(
  as outcome: String, isSuspended: Bool = true, _ end: (SimpleOperation<Int>, _ queue: OperationQueue) -> Void
) -> String {
  let (rounds, count) = (200, 50)
  for round in 1...rounds {
    let queue = suspendedQueue()
    queue.isSuspended = isSuspended
    var operations: [SimpleOperation<Int>] = []
    let completed = Shared(0)
    for number in 0..<count {
      let operation = SimpleOperation<Int> { $0.finish(with: number) }
      operation.completion = { _ in completed.withLock { $0 += 1 } }
      operations.append(operation)
      queue.addOperation(operation)
      guard number.isMultiple(of: 2) else { continue }
      end(operation, queue)
      guard isSuspended else { continue }
      // A cancel settles when the queue starts the operation; other ways settle it at once.
      expect(operation.isCancelled || operation.outcome != nil, "round \(round): operation \(number) has no outcome")
      expect(!operation.isFinished, "round \(round): operation \(number) has finished behind the queue's back")
    }
    // In every other round only the queue keeps them.
    if round.isMultiple(of: 2) { operations = [] }
    resume(queue)
    expect(
      completed.withLock { $0 } == count,
      "round \(round): \(completed.withLock { $0 }) of \(count) completions were called")
    for (number, operation) in operations.enumerated() {
      expect(operation.isFinished, "round \(round): operation \(number) has not finished, but the queue is empty")
      // In a queue that works, either may be first.
      if !isSuspended { continue }
      let expected = number.isMultiple(of: 2) ? outcome : "success \(number)"
      expect(
        text(operation.outcome) == expected, "round \(round): operation \(number) ended with \(text(operation.outcome))"
      )
    }
  }
  return "\(rounds) rounds of \(count) operations"
}

/// Compositions that wait in a queue are ended there.
func endCompositions() -> String {
  let queue = suspendedQueue()
  let settled = (0..<100).map { number in SimpleOperation<Int> { $0.finish(with: number) }.map { $0 + 1 } }
  let cancelled = (0..<100).map { number in
    CompositeOperation(operations: [SimpleOperation<Int> { $0.finish(with: number) }])
  }
  for operation in settled as [Operation] + cancelled { queue.addOperation(operation) }
  for operation in settled { operation.finish(with: -1) }
  for operation in cancelled { operation.cancel() }
  resume(queue)
  for operation in settled { expect(text(operation.outcome) == "success -1" && operation.isFinished, "\(operation)") }
  for operation in cancelled { expect(text(operation.outcome) == "cancelled" && operation.isFinished, "\(operation)") }
  return "200 compositions"
}

/// Operations with dependencies, which a cancel makes ready, whatever these do.
func endDependents() -> String {
  for round in 1...200 {
    let queue = suspendedQueue()
    let dependency: Operation = round.isMultiple(of: 2) ? BlockOperation {} : SimpleOperation<Void> { $0.finish() }
    let dependents = (0..<10).map { number in SimpleOperation<Int> { $0.finish(with: number) } }
    for dependent in dependents {
      dependent.addDependency(dependency)
      queue.addOperation(dependent)
    }
    for (number, dependent) in dependents.enumerated() {
      if number.isMultiple(of: 3) { dependent.cancel() } else if number % 3 == 1 { dependent.finish(with: -1) }
    }
    queue.isSuspended = false
    queue.addOperation(dependency)
    queue.waitUntilAllOperationsAreFinished()
    for (number, dependent) in dependents.enumerated() {
      let expected = ["cancelled", "success -1", "success \(number)"][number % 3]
      expect(
        text(dependent.outcome) == expected, "round \(round): dependent \(number) ended with \(text(dependent.outcome))"
      )
    }
  }
  return "200 rounds of 10 dependents"
}

// MARK: - Two owners

/// Composites reject children that wait in a queue, and leave them to it.
func queueChildren() -> String {
  for round in 1...200 {
    let queue = suspendedQueue()
    let children = (0..<10).map { number in SimpleOperation<Int> { $0.finish(with: number) } }
    for child in children { queue.addOperation(child) }
    let composite =
      round.isMultiple(of: 2)
      ? CompositeOperation(operations: children)
      : CompositeOperation(sequence: LinearSequence { _ in children[0] })
    composite.start()
    composite.waitUntilFinished()
    guard let error = composite.error as? CompositeError,
      (error.failures.first?.error as? OperationError)?.code == .alreadyInUse
    else {
      fail("round \(round): a composite took children that wait in a queue, and ended with \(text(composite.outcome))")
    }
    expect(children.allSatisfy { !$0.isFinished }, "round \(round): a composite ended children that wait in a queue")
    resume(queue)
    for (number, child) in children.enumerated() {
      expect(
        text(child.outcome) == "success \(number)", "round \(round): child \(number) ended with \(text(child.outcome))")
    }
  }
  return "200 composites"
}

/// The typed forms and `run()` wait for an operation that waits in a queue, or that `run` adds to
/// one.
func join() -> String {
  for round in 1...100 {
    let queue = suspendedQueue()
    let operation = SimpleOperation<Int> { $0.finish(with: 1) }
    queue.addOperation(operation)
    let chain = operation.map { $0 + 1 }
    chain.start()
    let isRun = Shared(false)
    let sum = wait {
      async let value = operation.run()
      async let next = chain.value
      isRun.withLock { $0 = true }
      queue.isSuspended = false
      return ((try? await value) ?? -10) + ((try? await next) ?? -10)
    }
    expect(sum == 3, "round \(round): run() and map() gave \(sum)")
    let put = SimpleOperation<Int> { $0.finish(with: 1) }
    queue.isSuspended = true
    let task = Task.detached { try await queue.run(put) }
    while queue.operationCount == 0 { sched_yield() }
    put.finish(with: 5)
    expect(!put.isFinished, "round \(round): what run() put into a queue finished behind its back")
    queue.isSuspended = false
    expect(wait { (try? await task.value) ?? -10 } == 5, "round \(round): run() in a queue gave something else")
    queue.waitUntilAllOperationsAreFinished()
  }
  return "100 rounds"
}

/// Foundation also reads `isReady` of operations that are in no queue. They must not count as
/// queued.
func useUnqueued() -> String {
  for round in 1...100 {
    func operation() -> SimpleOperation<Int> { SimpleOperation<Int> { $0.finish(with: 1) } }
    func run(_ operation: SimpleOperation<Int>) -> Int { wait { (try? await operation.run()) ?? -1 } }

    let cancelled = operation()
    cancelled.cancel()
    expect(run(cancelled) == -1 && cancelled.isFinished, "round \(round): a cancelled operation does not end")

    for dependency in [operation() as Operation, BlockOperation {}] {
      let dependent = operation()
      dependent.addDependency(dependency)
      let other = SimpleOperation<Int> { $0.finish(with: 2) }
      other.addDependency(dependency)
      dependency.start()
      expect(run(dependent) == 1, "round \(round): run() took an operation whose dependency finished for a queued one")
      let composite = CompositeOperation(operations: [other])
      composite.start()
      composite.waitUntilFinished()
      expect(composite.outcome?.value?.count == 1, "round \(round): a composite refused it: \(text(composite.outcome))")

      // The same, but it is in a queue.
      let queue = suspendedQueue()
      let queued = operation()
      queued.addDependency(dependency)
      queue.addOperation(queued)
      queued.finish(with: 3)
      expect(!queued.isFinished, "round \(round): an operation finished behind the queue's back")
      resume(queue)
    }

    let settled = operation()
    let removed = BlockOperation {}
    settled.addDependency(removed)
    settled.removeDependency(removed)
    settled.finish(with: 4)
    expect(settled.isFinished && run(settled) == 4, "round \(round): settled, and not finished")

    // Read by other code: it counts as queued until it is started.
    let read = operation()
    _ = read.isReady
    read.finish(with: 5)
    expect(text(read.outcome) == "success 5", "round \(round): settled without an outcome")
    read.start()
    expect(read.isFinished, "round \(round): start() did not finish it")
  }
  return "100 rounds"
}

/// A composite whose `isReady` was read, and that is started inside an operation of a queue, does
/// not hold that one's slot.
func holdSlot() -> String {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  let leafRan = DispatchSemaphore(value: 0)
  let composite = CompositeOperation(
    operations: [
      SimpleOperation<Void> {
        leafRan.signal(); $0.finish()
      }
    ], operationQueue: queue)
  let isOver = Shared(false)
  queue.addOperation {
    _ = composite.isReady
    composite.start()
    // Enough time for a leaf that should not run.
    let ran = leafRan.wait(timeout: .now() + .milliseconds(200)) == .success
    isOver.withLock { $0 = ran }
  }
  composite.waitUntilFinished()
  queue.waitUntilAllOperationsAreFinished()
  expect(!isOver.withLock { $0 }, "a leaf ran in a queue of limit 1 while an operation held its slot")

  let queued = CompositeOperation(operations: [SimpleOperation<Void> { $0.finish() }], operationQueue: queue)
  queue.addOperation(queued)
  queue.waitUntilAllOperationsAreFinished()
  expect(queued.isFinished, "a composite in its own queue of limit 1 did not finish")
  return "2 composites"
}

// MARK: - Observers by key

func observe() -> String {
  var paths = 0
  /// Expects these announcements, in this order; only those of `key` if given.
  func check(
    _ name: String, _ expected: [String], key: String? = nil, _ body: (SimpleOperation<Int>) -> Void,
    work: @escaping @Sendable (SimpleOperation<Int>) -> Void = { _ in }
  ) {
    let operation = SimpleOperation<Int>(work)
    let observer = DarwinSimulation.observe(operation)
    body(operation)
    let changes = observer.changes.filter { key == nil || $0.hasPrefix(key!) }
    DarwinSimulation.stopObserving(operation)
    if DarwinSimulation.isDarwin { expect(changes == expected, "\(name): \(changes) instead of \(expected)") }
    operation.cancel()
    operation.finish(with: 0)
    paths += 1
  }
  let cancelled = ["isCancelled false true"]
  check("run", ["isExecuting false true", "isFinished false true", "isExecuting true false"]) {
    $0.start()
  } work: {
    $0.finish(with: 1)
  }
  check("cancelled while it executes", cancelled, key: "isCancelled") {
    $0.start(); $0.cancel(); $0.cancel()
  }
  check("cancelled before it starts", cancelled, key: "isCancelled") {
    $0.cancel(); $0.cancel(); $0.start()
  }
  check("settled as cancelled while it executes", cancelled, key: "isCancelled") {
    $0.start(); $0.settle(with: .cancelled)
  }
  check("settled as cancelled before it starts", cancelled, key: "isCancelled") {
    $0.settle(with: .cancelled); $0.cancel()
  }
  check("rejected with a cancellation", cancelled, key: "isCancelled") {
    $0.start(); $0.reject(with: CancellationError())
  }
  check("cancelled, then settled", cancelled, key: "isCancelled") {
    $0.start(); $0.cancel(); $0.settle(with: .cancelled)
  }
  check("succeeded", [], key: "isCancelled") {
    $0.start(); $0.finish(with: 1); $0.cancel()
  }
  check("succeeded before it starts", ["isFinished false true"], key: "isFinished") { $0.finish(with: 1) }
  check("waiting in a queue", cancelled, key: "isCancelled") {
    let queue = suspendedQueue()
    queue.addOperation($0)
    $0.cancel()
    resume(queue)
  }
  return "\(paths) paths"
}

// MARK: - Autorelease pools

/// All user code is called in a pool, and no two pieces of work in the same one.
func usePools() -> String {
  let pools = Shared<[String: [Int?]]>([:])
  let note: @Sendable (String) -> Void = { place in
    pools.withLock { $0[place, default: []].append(DarwinSimulation.pool) }
  }
  @Sendable func child(_ place: String) -> SimpleOperation<Int> {
    let child = SimpleOperation<Int> {
      note("body \(place)")
      $0.finish(with: 1)
    }
    child.completion = { _ in note("completion \(place)") }
    child.addObserver { _ in note("observer \(place)") }
    return child
  }
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  let composites = [
    CompositeOperation(operations: (0..<100).map { _ in child("of a composite") }),
    CompositeOperation(operations: (0..<100).map { _ in child("in a queue") }, operationQueue: queue),
    CompositeOperation(
      sequence: LinearSequence(
        steps: (0..<100).map { _ in
          { _ in
            note("delegate")
            return child("of a sequence")
          }
        })),
  ]
  for composite in composites {
    composite.completion = { _ in note("completion") }
    composite.start()
    composite.waitUntilFinished()
  }
  child("alone").start()
  let queued = child("queued")
  queue.addOperation(queued)
  let chain = child("of a chain").map {
    note("transform")
    return $0
  }
  chain.start()
  chain.waitUntilFinished()
  let cancelled = SimpleOperation<Int> { operation in
    operation.onCancel = {
      note("onCancel"); operation.finish(with: 1)
    }
  }
  cancelled.start()
  cancelled.cancel()
  let late = SimpleOperation<Int> { _ in }
  late.completion = { _ in note("timeout") }
  late.start()
  let timed = late.timeout(.milliseconds(1))
  timed.completion = { _ in note("timer") }
  timed.start()
  timed.waitUntilFinished()
  late.finish(with: 1)
  queue.waitUntilAllOperationsAreFinished()
  guard DarwinSimulation.isDarwin else { return "no pools" }
  let noted = pools.withLock { $0 }
  for (place, pools) in noted {
    expect(!pools.contains(nil), "\(place): called without an autorelease pool")
    expect(Set(pools).count == pools.count || !place.hasPrefix("body"), "\(place): several in one autorelease pool")
  }
  expect(noted.count >= 16, "called were only: \(noted.keys.sorted())")
  return "\(noted.values.reduce(0) { $0 + $1.count }) calls in \(noted.count) places"
}

// MARK: -

let scenarios: [(name: String, run: () -> String)] = [
  ("finish", { endWaiting(as: "success -1") { operation, _ in operation.finish(with: -1) } }),
  ("reject", { endWaiting(as: "failure Refused()") { operation, _ in operation.reject(with: Refused()) } }),
  ("settle", { endWaiting(as: "cancelled") { operation, _ in operation.settle(with: .cancelled) } }),
  ("cancel", { endWaiting(as: "cancelled") { operation, _ in operation.cancel() } }),
  (
    "cancelThenFinish",
    {
      endWaiting(as: "cancelled") { operation, _ in
        operation.cancel()
        operation.finish(with: -1)
      }
    }
  ),
  ("running", { endWaiting(as: "", isSuspended: false) { operation, _ in operation.finish(with: -1) } }),
  ("runningCancel", { endWaiting(as: "", isSuspended: false) { operation, _ in operation.cancel() } }),
  ("cancelAll", { endWaiting(as: "", isSuspended: false) { _, queue in queue.cancelAllOperations() } }),
  ("compositions", endCompositions), ("dependents", endDependents), ("children", queueChildren), ("joined", join),
  ("unqueued", useUnqueued), ("slot", holdSlot), ("observed", observe), ("pools", usePools),
]

guard let name = CommandLine.arguments.dropFirst().first else {
  for scenario in scenarios { print(scenario.name) }
  exit(0)
}
guard let scenario = scenarios.first(where: { $0.name == name }) else { fail("there is no scenario \(name)") }
print("\(name): \(scenario.run())")
