import Foundation

/// A way to where jobs are stored. It lends sessions, each to one caller at a time.
///
/// A queue has one for what is written and one for questions; for some stores they are the same.
protocol StoreAccess: AnyObject, Sendable {
  /// What the place is called in errors: the path of a file.
  var place: String { get }

  /// Whether many processes may ask the place at the same moment: their looks are spread, and none follows another one at once.
  var isPaced: Bool { get }

  /// Whether the place is to be left alone: what is asked of a session fails with ``DatabaseError/Code/suspended``.
  var isSuspended: Bool { get set }

  /// Uses a session on the thread of the caller, and returns when that is done.
  ///
  /// - Throws: ``JobError/Code/insideTransaction`` inside of a transaction of the user's, which would wait for itself.
  func sync<R>(_ body: (any StoreSession) throws -> R) throws -> R

  /// Uses a session later, on a thread of the store's.
  func async(_ body: @escaping @Sendable (any StoreSession) -> Void)

  /// Uses a session on a thread of the store's, and suspends the caller's task until that is done.
  func run<R: Sendable>(_ body: @escaping @Sendable (any StoreSession) throws -> R) async throws -> R

  /// Makes running statements fail. `last` is called when all is over that was asked before; it may use
  /// the store though it is suspended.
  func interrupt(_ last: @escaping @Sendable (any StoreSession) -> Void) async

  /// Calls `heard` from now on, on any thread, when another process says that there is something to do. News get lost, and not all
  /// that is to be done makes some: the next look sees it. Nothing comes from a store that others do not speak through.
  func listen(_ heard: @escaping @Sendable (StoreNews) -> Void)
}

extension StoreAccess {
  var isPaced: Bool { false }

  func listen(_ heard: @escaping @Sendable (StoreNews) -> Void) {}
}

/// What another process said.
struct StoreNews: Sendable, Equatable {
  /// The lanes in which jobs became due.
  var lanes: Set<Int64> = []
  /// Whether a job that executes was asked to end.
  var hasCancelRequests = false
  /// Whether some may have got lost: all that there is has to be looked for.
  var isIncomplete = false

  var isEmpty: Bool { lanes.isEmpty && !hasCancelRequests && !isIncomplete }

  mutating func add(_ news: StoreNews) {
    lanes.formUnion(news.lanes)
    hasCancelRequests = hasCancelRequests || news.hasCancelRequests
    isIncomplete = isIncomplete || news.isIncomplete
  }
}

/// The queues of Dispatch that stores use their sessions on.
enum StoreQueue {
  /// Set on each of them: what stands for all of one store.
  static let current = DispatchSpecificKey<ObjectIdentifier>()
}
