import CompositeOperations
import Foundation

/// A queue of jobs that survive the process. It stores jobs in a SQLite file or on a PostgreSQL
/// server, claims them, and runs them as operations.
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
/// **At least once.** The queue acknowledges a job after its operation has succeeded. If the
/// process ends between the two, the job runs again: make jobs that may run twice without harm, or
/// use `complete` of ``JobContext``.
///
/// **Several processes** may use one file at the same time, or one schema of a server, there from
/// many machines: see <doc:SeveralMachines>. Each process claims jobs of the kinds that it has
/// registered, as many as it has room for. If a process ends while it runs jobs, another process
/// takes them over.
///
/// All methods may be called from any thread. Methods that are not `async` use the disk, or wait
/// for the server, on the thread of the caller. None may be called inside the closure of
/// `transaction`: use the argument of the closure.
public final class DurableQueue: Sendable {
  let core: QueueCore

  /// Where the jobs are stored.
  public let location: Location

  /// Opens a queue. Nothing runs before ``start()``.
  ///
  /// Traps if the configuration makes no sense: a concurrency below 1, or an interval that is not
  /// positive.
  ///
  /// - Throws: ``DatabaseError`` if the file cannot be opened, is no database, is damaged, or was
  ///   made by a newer version of the library; if the server cannot be reached, its client library
  ///   is missing, or the role lacks a right. Existing data is then left as it is. The call does
  ///   not wait for a server that is away: call it again.
  public init(location: Location, configuration: Configuration = Configuration()) throws {
    configuration.check()
    self.location = location
    core = try QueueCore(location: location, configuration: configuration)
  }

  /// Opens a queue without blocking the thread of the caller; `async` functions call this form.
  ///
  /// Traps and throws as ``init(location:configuration:)`` does. It opens the queue even if the
  /// task was cancelled.
  public static func open(
    location: Location, configuration: Configuration = Configuration()
  ) async throws -> DurableQueue {
    let reply = Reply<DurableQueue>()
    await withCheckedContinuation { continuation in
      // Its own thread: it may wait for another process, and for the disk.
      DispatchQueue.global(qos: .userInitiated).async {
        reply.give(
          Result { try DurableQueue(location: location, configuration: configuration) }, resuming: continuation)
      }
    }
    return try reply.take()
  }

  /// Stops as ``stop(grace:givingUpAfter:)`` does with no grace, but does not wait.
  deinit {
    core.stop(grace: .zero) { nil }
  }

  // MARK: - Running

  /// Begins to claim and run jobs of the registered kinds, for the first time or again after
  /// ``stop(grace:givingUpAfter:)``. Does nothing if the queue runs. A queue that was opened for
  /// reading only runs nothing; ``events(bufferingPolicy:)`` reports why.
  public func start() {
    if case .readOnlyFile(let url) = location {
      return core.events.tell(.databaseFailed(.openedToBeRead(url.path)))
    }
    core.tellOfLoss()
    core.start()
  }

  /// Releases the queue's files, or its tables on the server, before the system suspends the app.
  /// When this returns, the queue holds no lock, and until ``resume()`` it writes nothing and sets
  /// no timer.
  ///
  /// Running jobs are cancelled. They wait again at once, which costs them neither an attempt nor a
  /// crash, whether or not their operations end before the system suspends the app: make jobs that
  /// may run twice without harm. Another process may take them meanwhile. A statement under way
  /// fails, and so do calls of the queue until ``resume()``, with ``DatabaseError/Code/suspended``;
  /// ``waitUntilIdle()`` and ``waitUntilSettled(_:)`` keep waiting. The queue remembers ``start()``
  /// and ``stop(grace:givingUpAfter:)``: they take effect when it is resumed.
  ///
  /// The call waits at most a second for a process that has locked the file, or rows on the server.
  /// It also waits for a closure of `transaction` that runs: call it from elsewhere. A file stores
  /// what such a closure does, unless one of its statements runs at this moment, which fails; on a
  /// server its next statement fails. A call to a server that does not answer ends with its time
  /// limit. This call does nothing if the queue is suspended already.
  ///
  /// A ``stop(grace:givingUpAfter:)`` that waits returns, except one without a patience, which
  /// returns when the operations have ended.
  public func suspend() async {
    await core.suspend()
  }

  /// Ends ``suspend()``: the queue claims jobs again if it did before. Does nothing if the queue is
  /// not suspended.
  public func resume() {
    core.resume()
  }

  /// Stops claiming jobs, lets running jobs go on for a grace, and then cancels those that still
  /// run: they wait again, which costs them no attempt. Returns when nothing runs and everything is
  /// written; at once if the queue was never started. If ``start()`` is called meanwhile, returns
  /// when nothing runs any longer of what ran then. The log handler and the sinks have returned for
  /// what happened before, and its events are in their streams.
  ///
  /// If the database fails, the call gives up after a few tries and reports the jobs of which
  /// something is not written as ``JobEvent/Kind/unwritten``: they run again.
  ///
  /// The call waits for an operation that ignores its cancellation, since another process must not
  /// begin the job before the operation has ended. A job that awaits this call waits for itself
  /// until the grace is over: call it from elsewhere.
  ///
  /// With a patience, the wait is limited. Each call has a patience of its own: others wait on, and
  /// the lease of this process is renewed as long as one waits. When none does, the queue reports
  /// each job that has not ended as ``JobEvent/Kind/abandoned``, and leaves it to the lease. A
  /// later call waits for what still runs. A process that must exit uses it:
  ///
  /// ```swift
  /// signal(SIGTERM, SIG_IGN)
  /// let signals = DispatchSource.makeSignalSource(signal: SIGTERM)
  /// signals.setEventHandler { @Sendable in
  ///   // Of high priority, so that jobs that compute do not delay it.
  ///   Task(priority: .high) {
  ///     await queue.stop(grace: .seconds(20), givingUpAfter: .seconds(5))
  ///     exit(0)
  ///   }
  /// }
  /// signals.activate()
  /// ```
  ///
  /// While the queue is suspended, nothing is left to write, and no timer is set: a call without a
  /// patience waits for the operations that still run, and one with a patience returns at once.
  ///
  /// - Parameters:
  ///   - grace: how long running jobs may go on; nil for ``Configuration/stopGrace``. The call with
  ///     the shortest grace decides.
  ///   - patience: how long to wait for operations that were cancelled after the grace; nil for no
  ///     limit.
  public func stop(grace: Duration? = nil, givingUpAfter patience: Duration? = nil) async {
    await core.stop(grace: grace ?? core.configuration.stopGrace, patience: patience)
  }

  /// Waits until no due job of a kind that is registered here waits or executes, in any process.
  ///
  /// Jobs that are held, dead, blocked or scheduled for later do not count; those of a paused kind,
  /// and those that wait for a network, do. The jobs of a process that has ended count until they
  /// are taken over. On a queue that was not started, the call waits until other processes have run
  /// the due jobs. A job that awaits this call waits for itself.
  ///
  /// When this returns, the log handler and the sinks have returned for what this process reports
  /// of these jobs, and its events are in their streams.
  ///
  /// - Throws: ``DatabaseError`` if the database fails; `CancellationError` when the task is
  ///   cancelled.
  public func waitUntilIdle() async throws {
    try await core.waitUntilIdle()
  }

  /// Waits until a job is done, dead or cancelled, in any process, and returns its record. A held
  /// job keeps the call waiting. Nil if there is no such job: it was never enqueued, or was
  /// deleted, as ``Retention/none`` does with done jobs.
  ///
  /// The queue sees the changes of other processes within a ``Configuration/pollInterval``.
  ///
  /// - Throws: ``DatabaseError`` if the database fails; `CancellationError` when the task is
  ///   cancelled.
  public func waitUntilSettled(_ id: JobID) async throws -> JobRecord? {
    while true {
      try await core.waitUntilSettled(id)
      do {
        return try await core.reader.run { try $0.record(id) }
      } catch let error as DatabaseError where error.code == .suspended {
        // Suspended in between: keep waiting until the queue is resumed.
      }
    }
  }

  /// Returns a stream of what happens to jobs in this process from now on.
  ///
  /// Each call makes a separate stream, which ends with the queue.
  ///
  /// - Parameter bufferingPolicy: how many events the stream keeps for a slow reader; by default
  ///   the newest 1,024. ``JobEvent/droppedCount`` counts the dropped ones.
  public func events(
    bufferingPolicy: AsyncStream<JobEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<JobEvent> {
    core.events.stream(bufferingPolicy: bufferingPolicy)
  }

  /// The registered kinds, sorted by name.
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
      maxConcurrentOperationCount >= 1,
      "DurableQueue.Configuration.maxConcurrentOperationCount is \(maxConcurrentOperationCount). Use 1 or more; pause kinds to "
        + "run nothing."
    )
    require(
      maxCrashes ?? 1 >= 1,
      "DurableQueue.Configuration.maxCrashes is \(maxCrashes ?? 0). Use 1 or more, or nil for as many as it takes.")
    require(
      maxLapses ?? 1 >= 1,
      "DurableQueue.Configuration.maxLapses is \(maxLapses ?? 0). Use 1 or more, or nil for as many as it takes.")
    require(
      maxPayloadSize >= 1, "DurableQueue.Configuration.maxPayloadSize is \(maxPayloadSize). Use 1 or more.")
    requirePositive(leaseDuration, "leaseDuration")
    if let pollInterval { requirePositive(pollInterval, "pollInterval") }
    requirePositive(unresponsiveAfter, "unresponsiveAfter")
  }
}
