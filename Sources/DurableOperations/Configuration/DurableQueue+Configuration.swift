public import CompositeOperations
public import Foundation

extension DurableQueue {
  /// Where the jobs are stored.
  public enum Location: Sendable, Hashable {
    /// A file, which is made with its folder if it is not there. SQLite keeps two more beside it, with `-wal` and `-shm`
    /// at the end of their names. It must be on a local disk. It may be a database that your program uses already.
    case file(URL)
    /// A file that a queue has made before: for tools. If there is none, or it is another database, nothing is made or
    /// changed, and ``DatabaseError/Code/notAQueue`` is thrown.
    case existingFile(URL)
    /// A file that a queue has made before, to look at: for tools and monitors. Nothing is written to it, and no files
    /// are made beside it, so the right to read is enough. A call that would change something throws
    /// ``DatabaseError/Code/readOnly``, and ``DurableQueue/start()`` runs nothing. A file of an older version of the library
    /// is read as it is, not brought up to date.
    ///
    /// While other programs use the file, what they have stored is seen. Then SQLite needs the two files that they keep beside
    /// it; if the one with `-shm` at its end is missing, as beside a copy, it is made, and
    /// ``DatabaseError/Code/cannotOpen`` is thrown where this user may not.
    case readOnlyFile(URL)
    /// Nowhere: for tests. The jobs go when the queue does.
    case memory
    #if os(macOS) || os(Linux)
    /// A schema of a PostgreSQL server, 13 or newer, for as many machines as reach it. Its tables are made if they are not there.
    ///
    /// The URL is what libpq takes: `postgresql://role@host/database`, with several hosts, TLS and a service file if you like; the
    /// `PG…` variables and `.pgpass` count. libpq 14 or newer has to be installed where the program runs; nothing is needed to build
    /// it. See <doc:SeveralMachines>.
    case postgres(String, PostgresOptions = PostgresOptions())
    /// A schema that a queue has made before: for tools. If there is none nothing is made, and
    /// ``DatabaseError/Code/notAQueue`` is thrown.
    case existingPostgres(String, PostgresOptions = PostgresOptions())
    #endif
  }

  /// Which stored transactions survive a power failure.
  public struct Durability: Sendable, Hashable {
    /// Every transaction is on the disk when the call returns. On a server this is
    /// `synchronous_commit = on`: the transaction is on the server's disk, and on that of a standby if
    /// `synchronous_standby_names` says so.
    public static let full = Durability(value: .full)
    /// The last transactions may be lost in a power failure, but not when the process ends. The file
    /// stays sound in both cases. Several times faster than ``full``. On a server this is
    /// `synchronous_commit = off`: the last transactions may also be lost when the server crashes.
    public static let normal = Durability(value: .normal)

    enum Value { case full, normal }

    let value: Value
  }

  /// Who may read and write a file that a queue makes, and the two files beside it. A file that exists
  /// already keeps its permissions. On a server the rights of the role count.
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
    /// A job is dead once it has been due for this long. For processes that know every kind there is.
    public static func dead(after duration: Duration) -> UnknownKinds { UnknownKinds(value: .dead(after: duration)) }

    enum Value: Hashable {
      case leave
      case dead(after: Duration)
    }

    let value: Value
  }

  /// How long the queue keeps done and cancelled jobs. It keeps dead and held jobs until the program
  /// retries or deletes them.
  public struct Retention: Sendable, Hashable {
    /// Not at all. The fastest; `job(_:)` does not find done jobs, and other jobs cannot depend on them.
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
  }

  /// What a queue does while it cannot reach its server.
  public struct WhenDisconnected: Sendable, Hashable {
    /// Running jobs go on. Once their lease is over, other processes may run the same jobs, too; the
    /// store then refuses what this process reports.
    public static let goOn = WhenDisconnected(value: .goOn)
    /// Jobs that still run after ``Configuration/leaseDuration`` are cancelled, so that few jobs run
    /// twice at a time.
    public static let cancelAfterLease = WhenDisconnected(value: .cancelAfterLease)

    enum Value { case goOn, cancelAfterLease }

    let value: Value
  }

  /// How a queue works. Processes on one file, or one schema of a server, may differ in everything here.
  public struct Configuration: Sendable {
    /// Full, unless you say so. On a server it counts for all transactions of the queue, yours included, whatever the server's
    /// own setting is.
    public var durability: Durability = .full
    /// Whether foreign keys of tables of yours in the same file hold in `transaction` of the queue and
    /// `complete` of ``JobContext``. Not, as SQLite has it. On a server it changes nothing: they hold.
    public var enforcesForeignKeys: Bool = false
    /// Who may read and write a file that is made: its owner. Nothing on a server.
    public var fileAccess: FileAccess = .owner
    /// How many bytes are kept free for managing jobs on a full disk, in a file with `-reserve` at the end of its name: it is
    /// deleted when `delete`, `cancel`, `hold` or another of their kind finds no room, and made again when there is some: the
    /// queue looks once a minute, while it runs or is managed. Who may write the database may write it. It goes with the queue if
    /// the database was deleted. Zero for none. One mebibyte. Nothing on a server.
    public var diskReserve: Int = 1 << 20
    /// How the system protects the files while the device is locked, where it does: on iOS, iPadOS, tvOS, watchOS and
    /// visionOS. Nil for what the app's other files have. Work in the background, when the device may be locked, needs
    /// ``DurableQueue/FileProtection/untilFirstUnlock`` or less: otherwise the queue says ``DatabaseError/Code/deviceLocked``,
    /// and goes on when it is not.
    public var fileProtection: FileProtection?
    /// Whether the files are left out of backups, on Apple platforms. Jobs that come back with a backup run once more.
    public var isExcludedFromBackup: Bool = false
    /// How many jobs run at once in this process. At least 1. Four, as in ZLTaskManager, or as many as there are
    /// processors if those are more.
    public var maxConcurrentOperationCount: Int = max(4, ProcessInfo.processInfo.activeProcessorCount)
    /// The queue that the jobs' operations run in; nil for worker threads.
    public var operationQueue: OperationQueue?
    /// How long other processes wait until they take the jobs of one that is no longer heard of. It is heard of three
    /// times as often. One that has ended is noticed at the next look, where that can be known: on the same machine. A minute.
    public var leaseDuration: Duration = .seconds(60)
    /// What becomes of running jobs while a server cannot be reached. They go on. It means nothing for a file.
    public var whenDisconnected: WhenDisconnected = .goOn
    /// How often the queue looks for what other processes have done; nil for never. A second.
    ///
    /// With nil, an idle queue does nothing at all: it wakes when a job is due, and when something is asked of it. Only for a
    /// file that this process alone uses, such as that of an app without extensions: what others store is seen when something
    /// else wakes the queue.
    ///
    /// On a server the queue also hears of what others have stored, unless `listens` of its options says otherwise. What it
    /// did not hear, and what was enqueued by SQL, it sees when it looks, so leave it. There each pause is a fifth longer or
    /// shorter, at random.
    public var pollInterval: Duration? = .seconds(1)
    /// After how many processes ended while it ran, without an attempt that came to an end in between, a job is dead; nil
    /// for never. Three.
    ///
    /// On iOS, tvOS, watchOS and visionOS, where the system and the user end apps, ``maxLapses`` counts for these instead.
    public var maxCrashes: Int? = 3
    /// After how many leases ran out while it was claimed, of processes of which nobody could tell whether they had ended, a job
    /// is dead; nil for never. On iOS, tvOS, watchOS and visionOS processes that ended count, too. An app that was suspended
    /// without ``DurableQueue/suspend()`` is seen like that by its extensions, and a container by others. An attempt that comes to
    /// an end sets the count back. Twenty.
    public var maxLapses: Int? = 20
    /// How long to wait before further attempts of jobs whose options do not say it: 1 s, 2 s, 4 s and so on.
    ///
    /// As that of a job it ends at a day and has full jitter unless it says otherwise, and a fraction of a millisecond counts
    /// as a whole one. With the default, ten attempts span at most 9 minutes, and 20 three and a half days; with the jitter
    /// half of that on average.
    public var backoff: Backoff = .exponential(from: .seconds(1))
    /// For how long done jobs are kept. A day.
    public var retention: Retention = .keep(.seconds(24 * 3600))
    /// What becomes of jobs whose kind is not registered here.
    public var unknownKinds: UnknownKinds = .leave
    /// How many bytes of JSON a job may take. One mebibyte.
    public var maxPayloadSize: Int = 1 << 20
    /// How long to wait for another process that has the database locked. Five seconds. On a server that is `lock_timeout`: how
    /// long a statement waits for what another transaction has locked.
    public var busyTimeout: Duration = .seconds(5)
    /// For how long ``DurableQueue/stop(grace:givingUpAfter:)`` lets running jobs go on, unless it is told. Ten seconds.
    public var stopGrace: Duration = .seconds(10)
    /// How long an operation may take to end when it was cancelled, until ``JobEvent/Kind/unresponsive`` is told of it. Ten
    /// seconds.
    public var unresponsiveAfter: Duration = .seconds(10)
    /// Is told what somebody has to know of, whether or not ``DurableQueue/events(bufferingPolicy:)`` is read: jobs that are
    /// ``JobEvent/Kind/dead``, ``JobEvent/Kind/unresponsive`` or ``JobEvent/Kind/abandoned``, and that a file has lost its
    /// log: ``DatabaseError/Code/logLost``. Called when it is stored, on a
    /// thread that the queue waits for: it must not block. By default a line on standard error; nil for nothing.
    public var logHandler: (@Sendable (JobEvent) -> Void)? = DurableQueue.writeToStandardError
    /// Knows whether there is a network, for jobs that require one. Until it has said something, there is none. The system's,
    /// which is always online on Linux. Whether a server of jobs can be reached is not asked of it.
    public var networkMonitor: any ReachabilityMonitor = SystemReachabilityMonitor()
    /// What the time is taken from. On a server, the date is the server's unless this is a clock of yours, as for tests.
    public var clock: JobClock = .system
    /// Makes the generator that delays are spread with. The system's.
    public var randomNumberGenerator: @Sendable () -> any RandomNumberGenerator = { SystemRandomNumberGenerator() }
    /// What other processes know this one by. Only tests have it be another one.
    package var processIdentity: ProcessIdentity = .current

    /// Makes a configuration with the values that are given at each property.
    public init() {}
  }
}
