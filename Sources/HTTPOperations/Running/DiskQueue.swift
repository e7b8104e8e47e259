import CompositeOperations
import Dispatch

/// A serial queue of one transfer, for work that may wait for a disk or a stream, or take long: the
/// other requests of the session must not wait with it. It counts the bytes that wait in it, so
/// that the server can be made to wait, too.
final class DiskQueue: Sendable {
  private struct State {
    var waiting = 0
    var whenRoom: (@Sendable () -> Void)?
  }

  private let room: Int
  private let queue = DispatchQueue(label: "CompositeOperations.HTTPOperations.disk", qos: .userInitiated)
  private let state = LockBox(State())

  /// - Parameter room: how many bytes may wait.
  init(room: Int = 1 << 20) {
    self.room = room
  }

  /// Runs work after all that was added before. `count` bytes wait with it.
  func add(_ count: Int = 0, _ work: @escaping @Sendable () -> Void) {
    state.withLock { $0.waiting += count }
    queue.async {
      work()
      self.end(count)
    }
  }

  /// Runs work after all that was added before, and returns when it is done.
  func addAndWait(_ work: () -> Void) {
    queue.sync(execute: work)
  }

  /// Whether more bytes may be added.
  var hasRoom: Bool { state.withLock { $0.waiting < room } }

  /// Whether more bytes may be added. If not, `whenRoom` is called, once, as soon as they may.
  func hasRoom(otherwise whenRoom: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.waiting < room { return true }
      state.whenRoom = whenRoom
      return false
    }
  }

  private func end(_ count: Int) {
    let whenRoom = state.withLock { state in
      state.waiting -= count
      return state.waiting <= room / 2 ? state.whenRoom.take() : nil
    }
    whenRoom?()
  }
}
