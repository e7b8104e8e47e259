public import CompositeOperations
import Foundation

/// An operation that never ends by itself: what a timeout, a deadline or a cancel is tested with.
///
/// ```swift
/// let clock = ManualClock()
/// let never = NeverFinishingOperation<Int>()
/// let timed = never.timeout(.seconds(3), clock: clock)
/// queue.addOperation(timed)
/// await never.started.wait()
/// clock.advance(by: .seconds(3))
/// await never.cancelRequested.wait()
/// ```
///
/// Cancelled, it settles as cancelled, on the thread that cancels it. One that was made with `holdsOn` is like work that
/// does not listen: it goes on when it is cancelled, until ``release()``. It can be settled by hand as well.
public final class NeverFinishingOperation<Value: Sendable>:
  SimpleOperation<Value>, @unchecked Sendable  // all that is stored is immutable
{
  private let holdsOn: Bool

  /// Opens when it starts to execute.
  public let started = Gate()
  /// Opens when it is cancelled while it executes.
  public let cancelRequested = Gate()

  /// Makes an operation that nobody has started.
  ///
  /// - Parameters:
  ///   - name: its name.
  ///   - holdsOn: whether it goes on when it is cancelled, until it is released.
  public init(name: String? = nil, holdsOn: Bool = false) {
    self.holdsOn = holdsOn
    super.init()
    self.name = name
    // It is meant to hang.
    if holdsOn { noteEndsByItself() }
  }

  /// Opens ``started``.
  public override func main() {
    started.open()
  }

  /// Opens ``cancelRequested``, and settles unless it holds on.
  public override func didCancel() {
    cancelRequested.open()
    if !holdsOn { release() }
  }

  /// Settles it as cancelled. Does nothing if it has settled.
  public func release() {
    settle(with: .cancelled)
  }
}
