public import CompositeOperations
import Foundation

/// An operation that never ends by itself, to test timeouts, deadlines and cancels with.
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
/// When it is cancelled, it settles as cancelled, on the thread that cancels it. With `holdsOn` it
/// is like work that ignores cancellation, and goes on until ``release()``. It can be settled by
/// hand as well.
public final class NeverFinishingOperation<Value: Sendable>:
  SimpleOperation<Value>, @unchecked Sendable  // all that is stored is immutable
{
  private let holdsOn: Bool

  /// Opens when it starts to execute.
  public let started = Gate()
  /// Opens when it is cancelled while it executes.
  public let cancelRequested = Gate()

  /// Makes an operation that has not been started.
  ///
  /// - Parameters:
  ///   - name: its name.
  ///   - holdsOn: whether a cancel does not end it until ``release()``.
  public init(name: String? = nil, holdsOn: Bool = false) {
    self.holdsOn = holdsOn
    super.init()
    self.name = name
    // It hangs on purpose.
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
