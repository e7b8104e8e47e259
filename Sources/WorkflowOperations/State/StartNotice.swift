import CompositeOperations
import Synchronization

/// Waits until the event of an attempt's start has been passed on. It takes neither a thread nor a
/// slot.
final class StartNotice: SimpleOperation<Void>, @unchecked Sendable {  // atomic
  /// Counts the start of this operation, and the passing on. It waits for both.
  private let stepCount = Atomic(0)

  override init() {
    super.init()
    occupyNoSlot()
    name = "telling of the start"
  }

  override func main() { takeStep() }

  override func didCancel() { finish() }

  /// The event has been passed on.
  func tell() { takeStep() }

  private func takeStep() {
    if stepCount.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue == 2 { finish() }
  }
}
