#if DEBUG
import Foundation
import TestSupport

@testable import CompositeOperations

/// What a detector says about the engine of this process.
enum Finding: Equatable {
  case fine
  /// The rule is broken; what showed it.
  case caught(String)
}

/// How long a detector waits for what might never happen.
enum FaultPatience {
  /// For a healthy engine, in which everything happens: only the suite has a limit.
  case unlimited
  /// For a broken one, in which some things never do. Long compared with what the same takes in a healthy engine; a
  /// machine that is too slow can not fail the test by it.
  case bounded

  var deadline: DispatchTime {
    switch self {
    case .unlimited: .distantFuture
    case .bounded: .now() + .seconds(4)
    }
  }
}

/// A scenario in which one rule of the engine shows, and what to look at.
struct FaultDetector {
  /// What the broken engine does to the process.
  enum Effect {
    /// It goes on, and the detector says what it saw.
    case isSeen
    /// It crashes: there is nothing to see afterwards.
    case crashes
  }

  let effect: Effect
  /// Runs the scenario, on a thread where it may block.
  let run: @Sendable (FaultPatience) -> Finding

  init(effect: Effect = .isSeen, run: @escaping @Sendable (FaultPatience) -> Finding) {
    self.effect = effect
    self.run = run
  }

  /// The detector for a fault. A new fault needs a new one.
  init(for fault: EngineFault) {
    self =
      switch fault {
      case .claimsAhead: .siblingsThatWait
      case .keepsNoStandby: .siblingsThatWait
      case .leavesSlotEarly: .leavesInFlight
      case .ignoresHeldSlot: .rootInQueueOfLimitOne
      case .sharesNoLanes: .nestedInQueueOfLimitOne
      case .neverYields: .urgentOperationBehindLeaves
      case .ignoresSuspension: .leafThatSuspends
      case .ignoresQueueCancellation: .cancelAllOperations
      case .countsOnlyThreads: .limitOfAsynchronousChildren
      case .blocksThread: .childrenThatWaitForAll
      case .takesCompletionBlock: .completionBlocks
      case .nestsEffects: .manyLevels
      case .looksAtAllChildren: .readsPerChild
      }
  }

  /// Starts a composite as a program does, and waits until it has settled.
  static func settles(_ composite: CompositeOperation, in queue: OperationQueue? = nil, _ patience: FaultPatience)
    -> Bool
  {
    let hasSettled = DispatchSemaphore(value: 0)
    composite.completion = { _ in hasSettled.signal() }
    if let queue { queue.addOperation(composite) } else { composite.start() }
    return hasSettled.wait(timeout: patience.deadline) == .success
  }

  /// A leaf that goes on for a while after `start()` returned, counted while it is unfinished.
  static func leaf(_ gauge: ConcurrencyGauge) -> SimpleOperation<Int> {
    SimpleOperation { operation in
      gauge.enter()
      later(hops: 20) {
        gauge.leave()
        operation.finish(with: 1)
      }
    }
  }

  /// Calls back after a number of trips through a dispatch queue.
  static func later(hops: Int, _ body: @escaping @Sendable () -> Void) {
    guard hops > 0 else { return body() }
    DispatchQueue.global().async { later(hops: hops - 1, body) }
  }
}
#endif
