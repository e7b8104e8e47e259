import Foundation

/// Access to the place that stores jobs. It lends sessions, each to one caller at a time.
///
/// A queue has one access for writing and one for reading; for some stores they are the same.
protocol StoreAccess: AnyObject, Sendable {
  /// The name of the place in errors: the path of a file.
  var place: String { get }

  /// Whether many processes may ask the place at the same moment: their looks are spread, and none
  /// follows another at once.
  var isPaced: Bool { get }

  /// Whether the place must be left alone: calls of a session fail with
  /// ``DatabaseError/Code/suspended``.
  var isSuspended: Bool { get set }

  /// Uses a session on the thread of the caller, and returns when that is done.
  ///
  /// - Throws: ``JobError/Code/insideTransaction`` inside a transaction of the user, which would
  ///   wait for itself.
  func sync<R>(_ body: (any StoreSession) throws -> R) throws -> R

  /// Uses a session later, on a thread of the store.
  func async(_ body: @escaping @Sendable (any StoreSession) -> Void)

  /// Uses a session on a thread of the store, and suspends the caller's task until that is done.
  func run<R: Sendable>(_ body: @escaping @Sendable (any StoreSession) throws -> R) async throws -> R

  /// Makes running statements fail. `last` is called after all earlier calls; it may use the store
  /// though it is suspended.
  func interrupt(_ last: @escaping @Sendable (any StoreSession) -> Void) async

  /// Calls `heard` from now on, on any thread, when another process reports that there is something
  /// to do, and when it is unknown whether this process has stored something. Reports may get lost,
  /// and some changes cause none: the next look sees them. A store without messages between
  /// processes never calls it.
  func listen(_ heard: @escaping @Sendable (StoreNews) -> Void)
}

extension StoreAccess {
  var isPaced: Bool { false }

  func listen(_ heard: @escaping @Sendable (StoreNews) -> Void) {}
}

/// A report of another process.
struct StoreNews: Sendable, Equatable {
  /// The lanes in which jobs became due.
  var lanes: Set<Int64> = []
  /// Whether a job that executes was asked to end.
  var hasCancelRequests = false
  /// Whether reports may have been lost: look for everything.
  var isIncomplete = false

  var isEmpty: Bool { lanes.isEmpty && !hasCancelRequests && !isIncomplete }

  mutating func add(_ news: StoreNews) {
    lanes.formUnion(news.lanes)
    hasCancelRequests = hasCancelRequests || news.hasCancelRequests
    isIncomplete = isIncomplete || news.isIncomplete
  }
}

/// The queues of Dispatch on which stores use their sessions.
enum StoreQueue {
  /// Set on each of them: identifies all queues of one store.
  static let current = DispatchSpecificKey<ObjectIdentifier>()
}
