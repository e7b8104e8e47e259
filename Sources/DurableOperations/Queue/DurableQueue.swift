import CompositeOperations
import Foundation

/// A queue of jobs that survive the process: they are stored in a SQLite file or on a PostgreSQL server, claimed, and run as
/// operations.
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
/// **Several processes** may use one file, or one schema of a server, at the same time, those of a server on many machines: see
/// <doc:SeveralMachines>. Each claims jobs of the kinds that it has registered, as many as it has room for. If a process ends
/// while it runs jobs, another, or the next, takes them over.
///
/// All methods may be called from any thread. Those that are not `async` use the disk, or wait for the server, on the thread of
/// the caller. None may be called inside of the closure of `transaction`: use what the closure is given.
public final class DurableQueue: Sendable {
  let core: QueueCore

  /// Where the jobs are stored.
  public let location: Location

  /// Opens a queue. Nothing runs before ``start()``.
  ///
  /// Traps if the configuration makes no sense: a concurrency below 1, or an interval that is not positive.
  ///
  /// - Throws: ``DatabaseError`` if the file cannot be opened, is no database, is damaged, or was made by a newer version
  ///   of the library; if there is no connection to the server, its client library is missing, or a right of the role. What is
  ///   there is left as it is then. A server that is away is not waited for: call it again.
  public init(location: Location, configuration: Configuration = Configuration()) throws {
    configuration.check()
    self.location = location
    core = try QueueCore(location: location, configuration: configuration)
  }

  /// Opens a queue without using the database on the thread of the caller: for `async` functions.
  ///
  /// Traps and throws as ``init(location:configuration:)`` does. It is opened also if the task was cancelled.
  public static func open(
    location: Location, configuration: Configuration = Configuration()
  ) async throws -> DurableQueue {
    let reply = Reply<DurableQueue>()
    await withCheckedContinuation { continuation in
      // A thread of its own: it may wait for another process, and everything else that is on the disk.
      DispatchQueue.global(qos: .userInitiated).async {
        reply.give(
          Result { try DurableQueue(location: location, configuration: configuration) }, resuming: continuation)
      }
    }
    return try reply.take()
  }

  /// Stops as ``stop(grace:givingUpAfter:)`` does without any grace, but does not wait.
  deinit {
    core.stop(grace: .zero) { nil }
  }

  // MARK: - Running

  /// Begins to claim and run jobs of the registered kinds, for the first time or again after ``stop(grace:givingUpAfter:)``. Does nothing
  /// if the queue runs. On a file that was opened to be read only nothing runs, and ``events(bufferingPolicy:)`` says why.
  public func start() {
    if case .readOnlyFile(let url) = location {
      return core.events.tell(.databaseFailed(.openedToBeRead(url.path)))
    }
    core.tellOfLoss()
    core.start()
  }

  /// Leaves the queue's files, or its tables on the server, alone, before the system suspends the app: no lock is held when this
  /// returns, nothing is written, and no timer is set, until ``resume()``.
  ///
  /// What runs is cancelled. Its jobs wait again at once, and it costs them neither an attempt nor a crash, whether or not their
  /// operations end before the app is suspended: make them such that running twice does no harm. Another process may take them
  /// meanwhile. A statement that runs fails, and so does what is asked of the queue until ``resume()``, with
  /// ``DatabaseError/Code/suspended``; ``waitUntilIdle()`` and ``waitUntilSettled(_:)`` go on waiting. ``start()`` and
  /// ``stop(grace:givingUpAfter:)`` are remembered: they count when the queue is resumed.
  ///
  /// It waits a second at most for a process that has the file, or rows on the server, locked. Does nothing if the queue is
  /// suspended.
  public func suspend() async {
    await core.suspend()
  }

  /// Goes on after ``suspend()``, with claiming jobs if it did before. Does nothing if the queue is not suspended.
  public func resume() {
    core.resume()
  }

  /// Claims nothing from now on, lets running jobs go on for a time, and cancels those that still run then: they wait again,
  /// and it costs them no attempt. Returns when nothing runs, and everything is written; at once if the queue was never
  /// started.
  ///
  /// It waits for an operation that ignores that it was cancelled, for another process must not begin the job before it has
  /// ended. A job that waits for this waits for itself, as long as the grace goes on: have it done by somebody else.
  ///
  /// With a patience it does not wait for ever: what has not ended by then is told of by ``JobEvent/Kind/abandoned``, and its
  /// job is left to the lease of this process. So a process that is to end does end:
  ///
  /// ```swift
  /// signal(SIGTERM, SIG_IGN)
  /// let signals = DispatchSource.makeSignalSource(signal: SIGTERM)
  /// signals.setEventHandler {
  ///   Task {
  ///     await queue.stop(grace: .seconds(20), givingUpAfter: .seconds(5))
  ///     exit(0)
  ///   }
  /// }
  /// signals.activate()
  /// ```
  ///
  /// - Parameters:
  ///   - grace: how long running jobs may go on; nil for ``Configuration/stopGrace``.
  ///   - patience: how long to wait for operations that were cancelled when the grace was over; nil for as long as it takes.
  public func stop(grace: Duration? = nil, givingUpAfter patience: Duration? = nil) async {
    await core.stop(grace: grace ?? core.configuration.stopGrace, patience: patience)
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
    while true {
      try await core.waitUntilSettled(id)
      do {
        return try await core.reader.run { try $0.record(id) }
      } catch let error as DatabaseError where error.code == .suspended {
        // Suspended in between: wait on until the queue is resumed.
      }
    }
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
      diskReserve >= 0, "DurableQueue.Configuration.diskReserve is \(diskReserve). Use zero for none, or more.")
    require(
      maxPayloadSize >= 1, "DurableQueue.Configuration.maxPayloadSize is \(maxPayloadSize). Use 1 or more.")
    requirePositive(leaseDuration, "leaseDuration")
    if let pollInterval { requirePositive(pollInterval, "pollInterval") }
    requirePositive(unresponsiveAfter, "unresponsiveAfter")
  }
}
