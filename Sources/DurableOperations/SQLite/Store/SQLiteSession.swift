import CompositeOperations
import Foundation

/// A queue's access to jobs in a file. Belongs to the serial queue of its ``SQLiteAccess``, as the
/// store does.
final class SQLiteSession: StoreSession {
  let store: SQLiteStore
  let configuration: DurableQueue.Configuration
  /// Only for the session that writes.
  var reserve: ReserveKeeper?
  private let events: EventHub
  var clockWatch = ClockWatch()
  /// The version of the data at the last look.
  var seenVersion: Int64?

  init(_ store: SQLiteStore, configuration: DurableQueue.Configuration, events: EventHub) {
    self.store = store
    self.configuration = configuration
    self.events = events
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

  // MARK: - Full disks

  /// Makes a change that frees room in the end; frees room first where there is none.
  func managing<R>(_ body: () throws -> R) throws -> R {
    let result = try freeingSpace {
      try watchClock()
      return try store.transaction(body)
    }
    reserve?.makeNowAndThen(at: configuration.clock.milliseconds)
    return result
  }

  /// Makes a change that must not fail for want of room: frees some if it does, and tries again.
  func freeingSpace<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as DatabaseError where error.code == .diskFull {
      guard let reserve, reserve.giveUp() else { throw error }
      events.tell(.databaseFailed(error))
      // Earlier writes may have room in the file now, and leave the log's to others.
      store.truncateLog()
      defer {
        store.truncateLog()
        reserve.make()
      }
      return try body()
    }
  }
}
