#if DEBUG
import Foundation
import TestSupport

@testable import CompositeOperations

/// Rules about workers: who claims, who waits, what counts.
extension FaultDetector {
  /// Two hundred pairs of children, of which one blocks until the other ran.
  static let siblingsThatWait = FaultDetector { patience in
    let children = (0..<200).flatMap { _ -> [Operation] in
      let ran = Gate()
      return [BlockOperation { ran.waitBlocking() }, BlockOperation { ran.open() }]
    }
    let finished = settles(CompositeOperation(operations: children), patience)
    return finished ? .fine : .caught("\(children.count { !$0.isFinished }) of 400 never ran to their end")
  }

  /// Four hundred children that settle only when all have started.
  static let childrenThatWaitForAll = FaultDetector { patience in
    let started = Locked(0)
    let all = Gate()
    let children = (0..<400).map { number in
      SimpleOperation<Int> { operation in
        all.whenOpen { operation.finish(with: number) }
        if started.increment() == 400 { all.open() }
      }
    }
    let finished = settles(CompositeOperation(operations: children), patience)
    return finished ? .fine : .caught("\(started.current) of 400 were started")
  }

  /// Asynchronous children in composites with a limit of their own.
  static let limitOfAsynchronousChildren = FaultDetector { patience in
    for limit in 1...3 {
      let gauge = ConcurrencyGauge()
      let composite = CompositeOperation(operations: (0..<60).map { _ in leaf(gauge) })
      composite.maxConcurrentOperationCount = limit
      guard settles(composite, patience) else { return .caught("it never ends") }
      if gauge.maximum > limit { return .caught("\(gauge.maximum) unfinished with a limit of \(limit)") }
    }
    return .fine
  }

  /// Children with completion blocks of their own.
  static let completionBlocks = FaultDetector { patience in
    let called = DispatchSemaphore(value: 0)
    let children: [Operation] = [
      SimpleOperation<Int> { $0.finish(with: 1) }, BlockOperation {}, AsyncOperation { 1 },
      CompositeOperation(operations: [BlockOperation {}]),
    ]
    for child in children { child.completionBlock = { called.signal() } }
    guard settles(CompositeOperation(operations: children), patience) else { return .caught("it never ends") }
    for number in children.indices where called.wait(timeout: patience.deadline) != .success {
      return .caught("\(number) completion blocks of \(children.count) were called")
    }
    return .fine
  }

  /// 100,000 composites in each other, released on a small stack.
  static let manyLevels = FaultDetector(effect: .crashes) { patience in
    var composite = CompositeOperation(operations: [SimpleOperation<Int> { $0.finish(with: 1) }])
    for _ in 0..<100_000 { composite = CompositeOperation(operations: [composite]) }
    return settles(composite, patience) ? .fine : .caught("it never ends")
  }

  /// Children that count how often their priority is read: twice as many children, twice as many reads.
  static let readsPerChild = FaultDetector { patience in
    for limit in [OperationQueue.defaultMaxConcurrentOperationCount, 2] {
      var reads: [Int] = []
      for count in [200, 400] {
        let counted = Locked(0)
        let composite = CompositeOperation(operations: (0..<count).map { _ in PriorityReader(counted) })
        composite.maxConcurrentOperationCount = limit
        guard settles(composite, patience) else { return .caught("it never ends") }
        reads.append(counted.current)
      }
      if reads[1] > 3 * reads[0] || reads[0] > 20 * 200 { return .caught("\(reads) reads of 200 and 400 children") }
    }
    return .fine
  }
}

private final class PriorityReader: SimpleOperation<Void>, @unchecked Sendable {  // immutable
  private let reads: Locked<Int>

  init(_ reads: Locked<Int>) {
    self.reads = reads
    super.init()
  }

  override var queuePriority: QueuePriority {
    get {
      reads.increment()
      return super.queuePriority
    }
    set { super.queuePriority = newValue }
  }

  override func main() { finish() }
}
#endif
