import CompositeOperations
import Foundation

/// A queue's access to jobs in a file. Belongs to the serial queue of its ``SQLiteAccess``, as the
/// store does.
final class SQLiteSession: StoreSession {
  let store: SQLiteStore
  let configuration: DurableQueue.Configuration
  var clockWatch = ClockWatch()
  /// The version of the data at the last look.
  var seenVersion: Int64?

  init(_ store: SQLiteStore, configuration: DurableQueue.Configuration) {
    self.store = store
    self.configuration = configuration
  }

  func facts() throws -> StoreFacts {
    StoreFacts(
      identity: try store.identity(), kindRules: try store.kindRules(),
      loss: store.hasLostLog ? .logLost(store.connection.path) : nil)
  }

  // MARK: - The clock

  /// Notices a clock that was set since: stored times follow the clock that wrote them, and what is
  /// stored next must not move with what was stored before. Not inside a transaction.
  func watchClock() throws {
    let clock = configuration.clock
    if isClockKnown { return }
    let offset = try store.transaction {
      let offset = clock.offset
      try store.clockShows(offset: offset, boot: clock.bootID)
      return offset
    }
    clockWatch.shows(offset)
  }

  var isClockKnown: Bool { clockWatch.knows(configuration.clock.offset) }

  /// Makes a change at the known date.
  func managing<R>(_ body: () throws -> R) throws -> R {
    try watchClock()
    return try store.transaction(body)
  }
}
