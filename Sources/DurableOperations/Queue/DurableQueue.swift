import CompositeOperations
import Foundation

/// A queue of jobs that survive the process: they are stored in SQLite, claimed, and run as operations.
///
/// ```swift
/// let queue = try DurableQueue(location: .file(folder.appending(path: "jobs.sqlite")))
/// try queue.register(SendEmail.self, maxConcurrent: 2) { email, context in
///   try await mailer.send(email.text, to: email.to)
/// }
/// queue.start()
/// try queue.enqueue(SendEmail(to: "ada@example.org", text: "Hello"))
/// ```
///
/// **At least once.** A job is acknowledged when its operation has succeeded. If the process ends between the two, the job
/// runs again: make it so that running twice does no harm, or use `complete` of ``JobContext``.
///
/// **Several processes** may use one file at the same time. Each claims jobs of the kinds that it has registered, as many
/// as it has room for. If a process ends while it runs jobs, another, or the next, takes them over.
///
/// All methods may be called from any thread. Those that are not `async` use the disk on the thread of the caller. None
/// may be called inside of the closure of `transaction`: use what the closure is given.
public final class DurableQueue: Sendable {
  let core: QueueCore

  /// Where the jobs are stored.
  public let location: Location

  /// Opens a queue. Nothing runs before ``start()``.
  ///
  /// Traps if the configuration makes no sense: a concurrency below 1, or an interval that is not positive.
  ///
  /// - Throws: ``DatabaseError`` if the file cannot be opened, is no database, is damaged, or was made by a newer version
  ///   of the library. The file is left as it is then.
  public init(location: Location, configuration: Configuration = Configuration()) throws {
    configuration.check()
    self.location = location
    core = try QueueCore(location: location, configuration: configuration)
  }

  /// Stops as ``stop(grace:)`` does without any grace, but does not wait.
  deinit {
    core.stop(grace: .zero) { nil }
  }

  // MARK: - Running

  /// Begins to claim and run jobs of the registered kinds, for the first time or again after ``stop(grace:)``. Does nothing
  /// if the queue runs.
  public func start() {
    core.start()
  }

  /// The former second name of ``start()``.
  @available(*, deprecated, renamed: "start()")
  public func resume() {
    start()
  }

  /// Claims nothing from now on, lets running jobs go on for a time, and cancels those that still run then: they wait again,
  /// and it costs them no attempt. Returns when nothing runs, and everything is written; at once if the queue was never
  /// started.
  ///
  /// It waits for an operation that ignores that it was cancelled, for another process must not begin the job before it has
  /// ended. A job that waits for this waits for itself, as long as the grace goes on: have it done by somebody else.
  ///
  /// - Parameter grace: how long running jobs may go on; nil for ``Configuration/stopGrace``.
  public func stop(grace: Duration? = nil) async {
    await core.stop(grace: grace ?? core.configuration.stopGrace)
  }

  /// Returns when no due job of a kind that is registered here waits or executes, in whichever process. Jobs that are
  /// held, dead, blocked or scheduled for later do not count; those of a paused kind, and those that wait for a network, do.
  /// The jobs of a process that has ended count until they are taken over. On a queue that was not started it waits until
  /// others have run what is due. A job that waits for this waits for itself.
  ///
  /// - Throws: ``DatabaseError`` if the database cannot be asked; `CancellationError` when the task is cancelled.
  public func waitUntilIdle() async throws {
    try await core.waitUntilIdle()
  }

  /// Returns when a job is done, dead or cancelled, in whichever process, as it is then; a job that is held is waited for on.
  /// Nil if it is not there: it was never enqueued, or was deleted, as done jobs are at once with ``Retention/none``.
  ///
  /// What other processes do is seen within a ``Configuration/pollInterval``.
  ///
  /// - Throws: ``DatabaseError`` if the database cannot be asked; `CancellationError` when the task is cancelled.
  public func waitUntilSettled(_ id: JobID) async throws -> JobRecord? {
    try await core.waitUntilSettled(id)
    return try await core.reader.run { try $0.record(id) }
  }

  /// Makes a stream of what happens to jobs in this process from now on.
  ///
  /// Each call makes a stream of its own, which ends with the queue.
  ///
  /// - Parameter bufferingPolicy: how many events are kept for a reader that is slower; by default the newest 1,024. What
  ///   was dropped is counted in ``JobEvent/droppedCount``.
  public func events(
    bufferingPolicy: AsyncStream<JobEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<JobEvent> {
    core.events.stream(bufferingPolicy: bufferingPolicy)
  }

  /// The kinds that are registered, in the order of their names.
  public var registeredKinds: [String] {
    core.withLock { $0.registrations.values.map(\.kind).sorted() }
  }
}

extension DurableQueue.Configuration {
  fileprivate func check() {
    func requirePositive(_ duration: Duration, _ name: String) {
      require(duration > .zero, "DurableQueue.Configuration.\(name) is \(duration). Use a positive duration.")
    }
    require(
      maxConcurrentJobs >= 1,
      "DurableQueue.Configuration.maxConcurrentJobs is \(maxConcurrentJobs). Use 1 or more; pause kinds to run nothing."
    )
    require(
      maxCrashes ?? 1 >= 1,
      "DurableQueue.Configuration.maxCrashes is \(maxCrashes ?? 0). Use 1 or more, or nil for as many as it takes.")
    require(
      maxPayloadSize >= 1, "DurableQueue.Configuration.maxPayloadSize is \(maxPayloadSize). Use 1 or more.")
    requirePositive(leaseDuration, "leaseDuration")
    requirePositive(pollInterval, "pollInterval")
  }
}
