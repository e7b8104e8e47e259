import CompositeOperations
import Foundation

/// A file of a download, which grows next to its place, and is moved there when it is complete.
/// Links to its place stay.
///
///     open ◀──▶ in use ──finish──▶ over
///       └─────────┴────discard──────▲
///
/// It is written and finished on one queue. Any thread may discard it, also while the disk keeps
/// that queue waiting. The file is then gone, and later writes have no effect.
final class PartialFile: Sendable {
  private struct State {
    /// Whether it was finished or discarded.
    var isOver = false
    var isInUse = false
  }

  let destination: URL
  /// Where the links from the destination lead to.
  private let target: URL
  private let place: URL
  private let handle: FileHandle
  private let state = LockBox(State())

  /// - Parameter open: opens the file for writing.
  init(for destination: URL, opening open: (URL) throws -> FileHandle) throws {
    self.destination = destination
    target = try FileTarget.ofNewFile(destination)
    let folder = target.deletingLastPathComponent()
    place = folder.appendingPathComponent(".\(UUID().uuidString).part")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data().write(to: place, options: .withoutOverwriting)
    do {
      handle = try open(place)
    } catch {
      try? FileManager.default.removeItem(at: place)
      throw error
    }
  }

  func write(_ data: Data) throws {
    guard begin() else { return }
    defer { if !end() { try? handle.close() } }
    try handle.write(contentsOf: data)
  }

  /// Moves the file to its place, in one step. Returns false if it was discarded before.
  func finish() throws -> Bool {
    guard begin() else { return false }
    let closing = Result { try handle.close() }
    guard end(isOver: true) else { return false }
    do {
      try closing.get()
      guard rename(place.path, target.path) == 0 else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      }
    } catch {
      try? FileManager.default.removeItem(at: place)
      throw error
    }
    return true
  }

  /// Returns false if it was discarded before, or is being moved to its place.
  @discardableResult
  func discard() -> Bool {
    let isInUse = state.withLock { state -> Bool? in
      if state.isOver { return nil }
      state.isOver = true
      return state.isInUse
    }
    guard let isInUse else { return false }
    try? FileManager.default.removeItem(at: place)
    // The queue that uses it closes it then.
    if !isInUse { try? handle.close() }
    return true
  }

  /// Returns false if it is over.
  private func begin() -> Bool {
    state.withLock { state in
      state.isInUse = !state.isOver
      return state.isInUse
    }
  }

  /// Returns false if it was discarded meanwhile.
  private func end(isOver: Bool = false) -> Bool {
    state.withLock { state in
      state.isInUse = false
      defer { state.isOver = state.isOver || isOver }
      return !state.isOver
    }
  }
}
