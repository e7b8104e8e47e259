@testable import CompositeOperations

/// Whether this thread is inside a marked region.
final class ThreadFlag: Sendable {
  private final class Storage {
    var isSet = false
  }

  private let storage = ThreadLocal { Storage() }

  var isSet: Bool { storage.current.isSet }

  func whileSet(_ body: () -> Void) {
    storage.current.isSet = true
    body()
    storage.current.isSet = false
  }
}
