#if DEBUG
import Foundation
import TestSupport

@testable import CompositeOperations

/// Rules about the slots of a given queue.
extension FaultDetector {
  /// Asynchronous leaves in queues of few slots.
  static let leavesInFlight = FaultDetector { patience in
    for limit in 1...3 {
      let gauge = ConcurrencyGauge()
      let composite = CompositeOperation(
        operations: (0..<60).map { _ in leaf(gauge) }, operationQueue: OperationQueue(limit: limit))
      guard settles(composite, patience) else { return .caught("it never ends") }
      if gauge.maximum > limit { return .caught("\(gauge.maximum) in flight in a queue of limit \(limit)") }
    }
    return .fine
  }

  /// A composite that holds the only slot of the queue in which its leaves are to run.
  static let rootInQueueOfLimitOne = FaultDetector { patience in
    let queue = OperationQueue(limit: 1)
    let ran = Locked(0)
    let leaves = (0..<10).map { _ in BlockOperation { ran.increment() } }
    let finished = settles(CompositeOperation(operations: leaves, operationQueue: queue), in: queue, patience)
    return finished ? .fine : .caught("\(ran.current) of 10 leaves ran")
  }

  /// Composites that share a queue whose only slot the outermost one holds.
  static let nestedInQueueOfLimitOne = FaultDetector { patience in
    let queue = OperationQueue(limit: 1)
    let gauge = ConcurrencyGauge()
    let children = (0..<4).map { _ in
      CompositeOperation(operations: (0..<10).map { _ in leaf(gauge) }, operationQueue: queue)
    }
    let root = CompositeOperation(operations: children, operationQueue: queue)
    guard settles(root, in: queue, patience) else { return .caught("it never ends") }
    return gauge.maximum == 1 ? .fine : .caught("\(gauge.maximum) in flight in a queue of limit 1")
  }

  /// A `.veryHigh` operation behind two thousand leaves.
  static let urgentOperationBehindLeaves = FaultDetector { patience in
    let queue = OperationQueue(limit: 1)
    let ran = Locked(0)
    let ranBefore = Locked<Int?>(nil)
    let urgent = BlockOperation { ranBefore.withLock { $0 = ran.current } }
    urgent.queuePriority = .veryHigh
    let leaves = (0..<2_000).map { _ in
      BlockOperation { if ran.increment() == 1 { queue.addOperation(urgent) } }
    }
    guard settles(CompositeOperation(operations: leaves, operationQueue: queue), patience) else {
      return .caught("it never ends")
    }
    queue.waitUntilAllOperationsAreFinished()
    let count = ranBefore.current ?? 0
    return count < 20 ? .fine : .caught("\(count) leaves ran before it")
  }

  /// A leaf that suspends the queue, which is resumed a while later. In the queue's own slot, and in that of the root.
  static let leafThatSuspends = FaultDetector { patience in
    for isInQueue in [false, true] {
      let queue = OperationQueue(limit: 1)
      let ran = Locked(0)
      let startedSuspended = Locked(0)
      let leaves = (0..<200).map { _ in
        BlockOperation {
          if queue.isSuspended { startedSuspended.increment() }
          guard ran.increment() == 3 else { return }
          queue.isSuspended = true
          resume(queue, until: patience == .bounded ? patience.deadline : nil) { startedSuspended.current > 0 }
        }
      }
      let composite = CompositeOperation(operations: leaves, operationQueue: queue)
      guard settles(composite, in: isInQueue ? queue : nil, patience) else { return .caught("it never ends") }
      let count = startedSuspended.current
      if count > 0 { return .caught("\(count) leaves started in a suspended queue") }
    }
    return .fine
  }

  /// Resumes the queue a while later; of a broken engine, when that has shown, at the latest at the deadline.
  private static func resume(
    _ queue: OperationQueue, until deadline: DispatchTime?, when isSeen: @escaping @Sendable () -> Bool
  ) {
    later(hops: 300) {
      if let deadline, !isSeen(), .now() < deadline {
        resume(queue, until: deadline, when: isSeen)
      } else {
        queue.isSuspended = false
      }
    }
  }

  /// `cancelAllOperations()` with two leaves running in the queue and more waiting for it.
  static let cancelAllOperations = FaultDetector { patience in
    let queue = OperationQueue(limit: 2)
    let started = DispatchSemaphore(value: 0)
    let leaves = (0..<6).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    for leaf in leaves { leaf.started.whenOpen { started.signal() } }
    let settled = DispatchSemaphore(value: 0)
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    composite.completion = { _ in settled.signal() }
    composite.start()
    for _ in 0..<2 { started.wait() }
    queue.cancelAllOperations()
    let cancelled = leaves.count(where: \.isCancelled)
    guard cancelled == 6 else { return .caught("\(cancelled) of 6 leaves were cancelled") }
    guard settled.wait(timeout: patience.deadline) == .success else { return .caught("it never ends") }
    return composite.outcome?.isCancelled == true ? .fine : .caught("it ended with \(composite)")
  }
}
#endif
