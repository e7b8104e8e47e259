#if DEBUG
import Synchronization
#endif

/// Deliberate violations of the engine's rules, for the tests that show that each would be noticed.
///
/// Only in debug builds; elsewhere nothing of it is left.
package enum EngineFault: Int, CaseIterable, Sendable {
  /// A worker claims a second child while the first may block.
  case claimsAhead
  /// No further worker waits while children are unclaimed.
  case keepsNoStandby
  /// A lane gives its slot up before its leaf has settled.
  case leavesSlotEarly
  /// The slot that the root of the tree holds is not used for its leaves.
  case ignoresHeldSlot
  /// Each composite has lanes of its own in the queue that it shares with others.
  case sharesNoLanes
  /// A lane goes on while other operations wait for its queue.
  case neverYields
  /// A lane goes on while its queue is suspended.
  case ignoresSuspension
  /// Cancelling all operations of a queue does not reach the leaves.
  case ignoresQueueCancellation
  /// Work that goes on after `start()` returned does not count as in flight.
  case countsOnlyThreads
  /// A worker waits for its child.
  case blocksThread
  /// The engine uses the children's `completionBlock` for itself.
  case takesCompletionBlock
  /// Effects nest instead of queueing.
  case nestsEffects
  /// Each claim looks at all children.
  case looksAtAllChildren

  #if DEBUG
  private static let injected = Atomic(0)

  /// Breaks this rule from now on, in the whole process.
  package func inject() {
    EngineFault.injected.bitwiseOr(1 << rawValue, ordering: .sequentiallyConsistent)
  }
  #endif

  @inline(__always)
  var isInjected: Bool {
    #if DEBUG
    EngineFault.injected.load(ordering: .relaxed) & 1 << rawValue != 0
    #else
    false
    #endif
  }
}
