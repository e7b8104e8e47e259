public import CompositeOperations
import Foundation

/// A subclass of `SimpleOperation` that executes until the test settles it.
///
/// ``started`` opens in `main`, ``cancelRequested`` in `didCancel`. It does not settle on its own
/// when it is cancelled, unless it was made with `settlesWhenCancelled`. `@unchecked Sendable`
/// because a subclass restates it; all that is stored is immutable.
public final class HeldOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {
  private let settlesWhenCancelled: Bool

  /// Opens in `main`.
  public let started = Gate()
  /// Opens in `didCancel`.
  public let cancelRequested = Gate()

  /// Makes an operation to be settled by hand.
  public init(_ name: String? = nil, settlesWhenCancelled: Bool = false) {
    self.settlesWhenCancelled = settlesWhenCancelled
    super.init()
    self.name = name
  }

  public override func main() {
    started.open()
  }

  public override func didCancel() {
    cancelRequested.open()
    if settlesWhenCancelled { settle(with: .cancelled) }
  }
}
