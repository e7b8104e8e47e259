public import CompositeOperations
public import Foundation

extension DurableQueue {
  /// Where the jobs are stored.
  public enum Location: Sendable, Hashable {
    /// A file. The queue makes it, and its folder, if it does not exist.
    ///
    /// SQLite keeps two more files beside it, whose names end in `-wal` and `-shm`. The file must
    /// be on a local disk. It may be a database that your program already uses.
    case file(URL)
    /// A file that a queue made earlier: for tools. If there is none, or it is another database,
    /// the queue makes and changes nothing and throws ``DatabaseError/Code/notAQueue``.
    case existingFile(URL)
    /// A file that a queue made earlier, opened for reading only: for tools and monitors.
    ///
    /// The queue writes nothing to the file and makes no files beside it, so read permission is
    /// enough. A call that would change something throws ``DatabaseError/Code/readOnly``, and
    /// ``DurableQueue/start()`` runs nothing. A file of an older version of the library is read as
    /// it is, without a migration.
    ///
    /// While other programs use the file, the queue sees what they store. SQLite then needs the two
    /// files that they keep beside it. If the one that ends in `-shm` is missing, as beside a copy,
    /// SQLite makes it, and the queue throws ``DatabaseError/Code/cannotOpen`` where this user may
    /// not.
    case readOnlyFile(URL)
    /// Memory: for tests. The jobs end with the queue.
    case memory
    #if os(macOS) || os(Linux)
    /// A schema of a PostgreSQL server, version 13 or newer, for any number of machines. The queue
    /// makes its tables if they do not exist.
    ///
    /// The URL is a libpq URL: `postgresql://role@host/database`, optionally with several hosts,
    /// TLS and a service file; the `PG…` variables and `.pgpass` count. libpq 14 or newer must be
    /// installed where the program runs; the build needs nothing. See <doc:SeveralMachines>.
    case postgres(String, PostgresOptions = PostgresOptions())
    /// A schema that a queue made earlier: for tools. If there is none, the queue makes nothing and
    /// throws ``DatabaseError/Code/notAQueue``.
    case existingPostgres(String, PostgresOptions = PostgresOptions())
    #endif
  }

  /// Which stored transactions survive a power failure.
  public struct Durability: Sendable, Hashable {
    /// Every transaction is on the disk when the call returns. On a server this is
    /// `synchronous_commit = on`: the transaction is on the server's disk, and on that of a standby
    /// if `synchronous_standby_names` says so.
    public static let full = Durability(value: .full)
    /// The last transactions may be lost in a power failure, but not when the process ends. The
    /// file stays sound in both cases. Several times faster than ``full``. On a server this is
    /// `synchronous_commit = off`: the last transactions may also be lost when the server crashes.
    public static let normal = Durability(value: .normal)

    enum Value { case full, normal }

    let value: Value
  }

  /// Who may read and write a file that a queue makes, and the two files beside it. A file that
  /// exists already keeps its permissions. On a server the rights of the role count.
  public struct FileAccess: Sendable, Hashable {
    /// The user whose process made the file: mode 0600.
    public static let owner = FileAccess(value: .owner)
    /// That user, and the group of the file: mode 0660.
    public static let group = FileAccess(value: .group)

    enum Value { case owner, group }

    let value: Value
  }

  /// What becomes of jobs whose kind this process has not registered.
  public struct UnknownKinds: Sendable, Hashable {
    /// The jobs stay as they are: another process may know their kind.
    public static let leave = UnknownKinds(value: .leave)
    /// A job is dead once it has been due for this long, and no process that knows its kind has run
    /// for this long or, if that is longer, for ``Configuration/leaseDuration``. For processes that
    /// know every kind there is.
    public static func dead(after duration: Duration) -> UnknownKinds { UnknownKinds(value: .dead(after: duration)) }

    enum Value: Hashable {
      case leave
      case dead(after: Duration)
    }

    let value: Value
  }

  /// How long the queue keeps done and cancelled jobs. It keeps dead and held jobs until the
  /// program retries or deletes them.
  public struct Retention: Sendable, Hashable {
    /// Not at all. The fastest; `job(_:)` does not find done jobs, and other jobs cannot depend on
    /// them.
    public static let none = Retention(value: .none)
    /// For this long.
    public static func keep(_ duration: Duration) -> Retention { Retention(value: .keep(duration)) }
    /// Until the program deletes them.
    public static let forever = Retention(value: .forever)

    enum Value: Hashable {
      case none
      case keep(Duration)
      case forever
    }

    let value: Value

    /// How long ended jobs are kept before they are deleted; nil if they never are. A job that is
    /// done is deleted at its end where this is zero, and a cancelled one by the next look.
    var pruned: Duration? {
      switch value {
      case .none: .zero
      case .keep(let duration): duration
      case .forever: nil
      }
    }
  }

  /// What a queue does while it cannot reach its server.
  public struct WhenDisconnected: Sendable, Hashable {
    /// Running jobs go on. Once their lease is over, other processes may run the same jobs, too;
    /// the store then refuses what this process reports.
    public static let goOn = WhenDisconnected(value: .goOn)
    /// Jobs that still run after ``Configuration/leaseDuration`` are cancelled, so that few jobs
    /// run twice at a time.
    public static let cancelAfterLease = WhenDisconnected(value: .cancelAfterLease)

    enum Value { case goOn, cancelAfterLease }

    let value: Value
  }

  /// How a queue works. Processes that share a file, or a schema of a server, may differ in all of
  /// this.
  public struct Configuration: Sendable {
    /// Which stored transactions survive a power failure. ``DurableQueue/Durability/full`` by
    /// default.
    ///
    /// On a server this holds for all transactions of the queue, including yours, whatever the
    /// server's own setting is.
    public var durability: Durability = .full
    /// Whether SQLite enforces the foreign keys of your own tables in the same file, in
    /// `transaction` of the queue and in `complete` of ``JobContext``. False by default, as in
    /// SQLite. Without effect on a server, which always enforces them.
    public var enforcesForeignKeys: Bool = false
    /// Who may read and write a file that the queue makes. Its owner by default. Without effect on
    /// a server.
    public var fileAccess: FileAccess = .owner
    /// How the system protects the files while the device is locked, on iOS, iPadOS, tvOS, watchOS
    /// and visionOS. Nil for the protection of the app's other files.
    ///
    /// Background work may run while the device is locked, so it needs
    /// ``DurableQueue/FileProtection/untilFirstUnlock`` or less. Otherwise the queue reports
    /// ``DatabaseError/Code/deviceLocked`` and goes on once the device is unlocked.
    public var fileProtection: FileProtection?
    /// Whether backups leave the files out, on Apple platforms. Jobs that return with a backup run
    /// again.
    public var isExcludedFromBackup: Bool = false
    /// How many jobs run at once in this process, at least 1. By default the number of processors,
    /// but at least four, as in ZLTaskManager.
    public var maxConcurrentOperationCount: Int = max(4, ProcessInfo.processInfo.activeProcessorCount)
    /// The queue in which the operations of the jobs run; nil for worker threads.
    public var operationQueue: OperationQueue?
    /// How long a process may stay silent before other processes take its jobs. A minute by
    /// default.
    ///
    /// Each process renews its lease three times in that time. On the same machine, other processes
    /// notice at their next look that a process has ended.
    public var leaseDuration: Duration = .seconds(60)
    /// What becomes of running jobs while the server cannot be reached. They go on by default.
    /// Without effect on a file.
    public var whenDisconnected: WhenDisconnected = .goOn
    /// How often the queue looks for changes by other processes; nil for never. A second by
    /// default.
    ///
    /// With nil, an idle queue does nothing at all: it wakes when a job is due and when the program
    /// calls it. Use nil only for a file that no other process uses, such as that of an app without
    /// extensions: the queue sees what another process stores only when it wakes for another
    /// reason. So it is with a clock that was set: if it was set forward, jobs for a date and
    /// periodic jobs come late until then.
    ///
    /// On a server, the queue also hears of what other processes store, unless `listens` of
    /// ``PostgresOptions`` says otherwise. By polling it finds what it did not hear, and what was
    /// enqueued by SQL, so leave polling on. There, each pause is up to a fifth longer or shorter,
    /// at random.
    public var pollInterval: Duration? = .seconds(1)
    /// How many processes in a row may end while they run a job before the job is dead; nil for no
    /// limit. Three by default. An attempt that ends resets the count.
    ///
    /// On iOS, tvOS, watchOS and visionOS, where the system and the user end apps, such ends count
    /// towards ``maxLapses`` instead.
    public var maxCrashes: Int? = 3
    /// How many leases in a row may run out while a job is claimed before the job is dead; nil for
    /// no limit. Twenty by default. An attempt that ends resets the count.
    ///
    /// A lease counts only if no other process can tell whether its process has ended. On iOS,
    /// tvOS, watchOS and visionOS, processes that have ended count, too. The extensions of an app
    /// that was suspended without ``DurableQueue/suspend()`` see the app in this way, and
    /// containers see each other so.
    public var maxLapses: Int? = 20
    /// How long to wait before further attempts of jobs whose options have no backoff: 1 s, 2 s, 4
    /// s and so on.
    ///
    /// As with the backoff of a job, the delay ends at a day and has full jitter unless the backoff
    /// says otherwise, and a fraction of a millisecond counts as a whole one. With the default, ten
    /// attempts span at most 9 minutes and twenty attempts three and a half days; the jitter halves
    /// that on average.
    public var backoff: Backoff = .exponential(from: .seconds(1))
    /// How long the queue keeps done jobs. A day by default.
    public var retention: Retention = .keep(.seconds(24 * 3600))
    /// What becomes of jobs whose kind this process has not registered.
    public var unknownKinds: UnknownKinds = .leave
    /// How many bytes of JSON a job may take. One mebibyte by default; at most 512 on a server.
    public var maxPayloadSize: Int = 1 << 20
    /// How long to wait for another process that has locked the database. Five seconds by default.
    /// On a server this is `lock_timeout`: how long a statement waits for what another transaction
    /// has locked.
    public var busyTimeout: Duration = .seconds(5)
    /// How long ``DurableQueue/stop(grace:givingUpAfter:)`` lets running jobs go on when its
    /// `grace` is nil. Ten seconds by default.
    public var stopGrace: Duration = .seconds(10)
    /// How long a cancelled operation may take to end before the queue reports
    /// ``JobEvent/Kind/unresponsive``. Ten seconds by default.
    public var unresponsiveAfter: Duration = .seconds(10)
    /// Receives the events that an operator must see, even if the program reads no
    /// ``DurableQueue/events(bufferingPolicy:)``. By default it writes a line to standard error;
    /// nil for nothing.
    ///
    /// These are the jobs that are ``JobEvent/Kind/dead``, ``JobEvent/Kind/unresponsive`` or
    /// ``JobEvent/Kind/abandoned``; ``JobEvent/Kind/databaseFailed``, once for each outage,
    /// ``JobEvent/Kind/databaseBack`` and ``JobEvent/Kind/unwritten``. The queue calls the closure
    /// after it has stored the change, on a thread for which it waits: the closure must not block.
    /// In it, call the queue with `await` in a `Task`; other calls may throw
    /// ``JobError/Code/insideTransaction``.
    public var logHandler: (@Sendable (JobEvent) -> Void)? = DurableQueue.writeToStandardError
    /// Tells whether there is a network, for jobs that require one. By default the system's
    /// monitor, which is always online on Linux.
    ///
    /// Until the monitor has reported, the queue assumes that there is no network. The queue does
    /// not ask the monitor whether its own server can be reached.
    public var networkMonitor: any ReachabilityMonitor = SystemReachabilityMonitor()
    /// The source of time. On a server, the date is the server's unless you set a clock of your
    /// own, as tests do.
    public var clock: JobClock = .system
    /// Makes the random number generator for the jitter of delays. The system's by default.
    public var randomNumberGenerator: @Sendable () -> any RandomNumberGenerator = { SystemRandomNumberGenerator() }
    /// The identity by which other processes know this one. Only tests change it.
    package var processIdentity: ProcessIdentity = .current

    /// Makes a configuration with the default values.
    public init() {}
  }
}
