import CompositeOperations
import Dispatch

/// Reports the progress of an operation away from the thread of the transport: a slow observer must
/// not delay other requests. Of the progress that comes meanwhile, only the newest is reported when
/// the observer returns.
final class ProgressMail: Sendable {
  private struct State {
    var newest: (count: Int, total: Int)?
    var isTelling = false
  }

  private let state = LockBox(State())

  func report(_ count: Int, of total: Int, to operation: HTTPOperation) {
    let begins = state.withLock { state in
      state.newest = (count, total)
      defer { state.isTelling = true }
      return !state.isTelling
    }
    guard begins else { return }
    DispatchQueue.global().async { self.tell(operation) }
  }

  private func tell(_ operation: HTTPOperation) {
    while let (count, total) = next() { operation.reportProgress(completed: count, of: total) }
  }

  private func next() -> (count: Int, total: Int)? {
    state.withLock { state in
      state.isTelling = state.newest != nil
      return state.newest.take()
    }
  }
}
