import CompositeOperationsSQLite
public import Foundation

/// The database of a queue could not do what it was asked for.
///
/// Switch on ``code``; ``description`` names the file or the server, the cause and the remedy. Nothing that was stored before is
/// lost: a transaction that fails leaves no trace.
public struct DatabaseError: Error, Sendable, Equatable {
  /// What was wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// Another connection held a lock for longer than ``DurableQueue/Configuration/busyTimeout``, or a statement took longer than
    /// `statementTimeout` of the options of a server.
    public static let busy = Code(value: .busy)
    /// There is no room on the disk, of this machine or of the server, or a limit of the file's size is reached.
    public static let diskFull = Code(value: .diskFull)
    /// The file, or its folder, cannot be written to, or was opened to be read only; or the role lacks a right on the server.
    public static let readOnly = Code(value: .readOnly)
    /// The file cannot be opened, or made; or the database of the server cannot hold a queue.
    public static let cannotOpen = Code(value: .cannotOpen)
    /// The file is not a database.
    public static let notADatabase = Code(value: .notADatabase)
    /// The file was to be one of a queue's, but is not there, or is another database; or the schema of the server has no tables
    /// of a queue, or older ones.
    public static let notAQueue = Code(value: .notAQueue)
    /// The file, or what the server has stored, was damaged.
    public static let corrupt = Code(value: .corrupt)
    /// The file, or the tables of the server, were made by a newer version of this library.
    public static let newerSchema = Code(value: .newerSchema)
    /// The SQLite of this system is older than 3.35.
    public static let sqliteTooOld = Code(value: .sqliteTooOld)
    /// The write-ahead log, the file with `-wal` at the end of its name, is not there any more, and with it what was stored since
    /// the file was opened last. The queue goes on with what is left.
    public static let logLost = Code(value: .logLost)
    /// Reading or writing failed.
    public static let inputOutput = Code(value: .inputOutput)
    /// The device is locked, and the file protected until it is not.
    public static let deviceLocked = Code(value: .deviceLocked)
    /// The queue is suspended: see ``DurableQueue/suspend()``.
    public static let suspended = Code(value: .suspended)
    /// A constraint of a table of yours does not hold.
    public static let constraint = Code(value: .constraint)
    /// The statement is wrong, or something that has no code of its own.
    public static let statement = Code(value: .statement)
    /// The closure of a transaction began or ended a transaction itself, or used its own when it was over.
    public static let transactionEnded = Code(value: .transactionEnded)
    /// A statement inside of a transaction would have changed the connection for good: a PRAGMA with a value, or ATTACH; on a
    /// server SET without LOCAL, PREPARE, LISTEN and their kind.
    public static let settingOfTheQueue = Code(value: .settingOfTheQueue)

    /// What was asked for needs a server, and the jobs are stored in a file.
    public static let needsServer = Code(value: .needsServer)

    /// The code in a word, such as `busy`.
    public var description: String { value.rawValue }

    /// The connection to the server was lost. Nothing of what was asked for is stored.
    public static let connectionLost = Code(value: .connectionLost)
    /// There is no connection to the server: it is not there, refuses this role, or has none left. Also that of a queue that
    /// waits until it is back.
    public static let cannotConnect = Code(value: .cannotConnect)
    /// The connection went while the transaction was committed: it is stored, or it is not.
    public static let outcomeUnknown = Code(value: .outcomeUnknown)
    /// libpq, the client library of PostgreSQL, is not installed.
    public static let clientLibraryMissing = Code(value: .clientLibraryMissing)
    /// libpq is older than PostgreSQL 14's.
    public static let clientLibraryTooOld = Code(value: .clientLibraryTooOld)
    /// The server is older than PostgreSQL 13.
    public static let serverTooOld = Code(value: .serverTooOld)
    /// The server takes no changes: a standby, or one that was told so.
    public static let serverReadOnly = Code(value: .serverReadOnly)
    /// The transaction could not be brought in line with others that ran at the same time.
    public static let conflict = Code(value: .conflict)

    /// What the library itself switches on, without a `default`.
    enum Value: String {
      case busy, diskFull, readOnly, cannotOpen, notADatabase, notAQueue, corrupt, newerSchema, sqliteTooOld,
        logLost, inputOutput, deviceLocked, suspended, constraint, statement, transactionEnded, settingOfTheQueue,
        connectionLost, cannotConnect, outcomeUnknown, clientLibraryMissing, clientLibraryTooOld, serverTooOld,
        serverReadOnly, conflict, needsServer
    }

    let value: Value
  }

  /// What stores the jobs.
  public struct Engine: Sendable, Hashable, CustomStringConvertible {
    /// A file of SQLite's, or its memory.
    public static let sqlite = Engine(description: "SQLite")
    /// A schema of a PostgreSQL server.
    public static let postgres = Engine(description: "PostgreSQL")

    /// Its name.
    public let description: String
  }

  /// What was wrong, to switch on.
  public let code: Code
  /// What stores the jobs.
  public let engine: Engine
  /// SQLite's extended result code; 0 where the error is not SQLite's.
  public let extendedCode: Int32
  /// The five characters by which PostgreSQL names the error; nil where it is not PostgreSQL's.
  public let sqlState: String?
  /// What SQLite says, or PostgreSQL, or the queue.
  public let message: String
  /// The statement that failed, if it was one.
  public let sql: String?
  /// The file, or `:memory:`; of a server the same as ``place``.
  public let path: String

  /// Where the jobs are stored: the file, or the server and its database, without a role or a password.
  public var place: String { path }

  init(
    _ code: Code, extendedCode: Int32 = 0, engine: Engine = .sqlite, sqlState: String? = nil, message: String,
    sql: String? = nil, path: String
  ) {
    self.code = code
    self.engine = engine
    self.extendedCode = extendedCode
    self.sqlState = sqlState
    self.message = message
    self.sql = sql
    self.path = path
  }

  /// What is told of a file that has said that there would be a log.
  static func logLost(_ path: String) -> DatabaseError {
    DatabaseError(.logLost, message: "there is no \(path)-wal", path: path)
  }

  /// What a queue says that was opened to look at a file.
  static func openedToBeRead(_ path: String) -> DatabaseError {
    DatabaseError(.readOnly, message: "its location is readOnlyFile", path: path)
  }

  /// An error of SQLite's.
  ///
  /// - Parameter systemCode: the system's error behind it, if there is one.
  init(resultCode: Int32, message: String, systemCode: Int32 = 0, sql: String?, path: String) {
    let code = Self.code(for: resultCode, message: message, systemCode: systemCode)
    self.init(code, extendedCode: resultCode, message: message, sql: sql, path: path)
  }

  /// `SQLITE_IOERR_SHMSIZE`, a macro that Swift does not see.
  private static let sharedMemorySize = SQLITE_IOERR | 19 << 8

  /// Whether there are devices that lock their files. Elsewhere a permission is missing.
  private static var canBeLocked: Bool {
    #if canImport(Darwin)
    true
    #else
    false
    #endif
  }

  private static func code(for resultCode: Int32, message: String, systemCode: Int32) -> Code {
    switch resultCode & 0xFF {
    // Of a statement that may not do what it says, the message is another.
    case SQLITE_AUTH where message != "not authorized": .deviceLocked
    case SQLITE_IOERR where systemCode == EPERM && canBeLocked: .deviceLocked
    // SQLite calls it full where it writes into the file itself, and only for the first of the two.
    case SQLITE_IOERR where systemCode == ENOSPC || systemCode == EDQUOT: .diskFull
    case SQLITE_CANTOPEN where systemCode == ENOSPC || systemCode == EDQUOT: .diskFull
    // The index of the log could not grow, and the system's error is not always kept.
    case SQLITE_IOERR where resultCode == Self.sharedMemorySize && systemCode == 0: .diskFull
    case SQLITE_INTERRUPT: .suspended
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_FULL: .diskFull
    case SQLITE_READONLY, SQLITE_PERM: .readOnly
    case SQLITE_CANTOPEN: .cannotOpen
    case SQLITE_NOTADB: .notADatabase
    case SQLITE_CORRUPT: .corrupt
    case SQLITE_IOERR: .inputOutput
    case SQLITE_CONSTRAINT: .constraint
    default: .statement
    }
  }
}

extension DatabaseError: LocalizedError, CustomStringConvertible {
  /// The sentence: what failed in which file, why, and what to do.
  public var description: String {
    let cause = extendedCode == 0 ? message : "\(message), SQLite code \(extendedCode)"
    let statement = sql.map { " The statement was: \($0)" } ?? ""
    return switch code.value {
    case _ where engine == .postgres: serverDescription + statement
    case .busy:
      "The database \(path) is locked by another connection (\(cause)). Try again, raise busyTimeout, or look for a "
        + "program that keeps a transaction open." + statement
    case .diskFull:
      "There is no room for the database \(path) (\(cause)). Free some; nothing that was stored before is lost."
    case .readOnly where extendedCode == 0:
      "The database \(path) was opened to be read only (\(cause)). Open it with another location to change it."
    case .readOnly:
      "The database \(path) can not be written to (\(cause)). Give this user the right to write the file and its "
        + "folder, where SQLite keeps its write-ahead log."
    case .cannotOpen:
      "The database \(path) can not be opened (\(cause)). Check that it is a file, and that this user may read it and, to "
        + "change it, write it and its folder."
    case .notADatabase:
      "\(path) is not a database (\(cause)). It was left as it is. Give the queue another path, or move the file away."
    case .notAQueue:
      "\(path) is not the database of a queue (\(cause)). Nothing was made or changed. Check the path."
    case .corrupt:
      "The database \(path) is damaged (\(cause)). Stop all programs that use it, keep a copy, and recover it with "
        + "`sqlite3 FILE .recover`, or start with a new file."
    case .newerSchema:
      "The database \(path) was made by a newer version of DurableOperations (\(cause)). It was left as it is. Update "
        + "this program."
    case .sqliteTooOld:
      "The SQLite of this system is too old (\(cause)). DurableOperations needs 3.35 or newer."
    case .logLost:
      "The write-ahead log of the database \(path) is gone (\(cause)): what was stored since it was opened last is lost. The "
        + "queue goes on with what is left. Keep the file with -wal at its end beside it when it is moved or copied."
    case .inputOutput:
      "Reading or writing the database \(path) failed (\(cause)). Check the disk." + statement
    case .deviceLocked:
      "The database \(path) is protected while the device is locked (\(cause)). Nothing is lost: the queue tries again. For "
        + "work in the background give it the file protection .untilFirstUnlock."
    case .suspended:
      "The queue of \(path) is suspended (\(cause)). Nothing was changed. Call resume() first."
    case .constraint:
      "A constraint of the database \(path) does not hold (\(cause)). Nothing of the transaction is stored; check the "
        + "values." + statement
    case .statement:
      "A statement failed in the database \(path) (\(cause)). Check it, and the tables that it names." + statement
    case .transactionEnded:
      "\(cause). Leave BEGIN, COMMIT and ROLLBACK to the queue, and use a transaction only inside its closure."
    case .settingOfTheQueue:
      "A transaction of \(path) must leave the settings of the connection as they are (\(cause)). Use a connection of your "
        + "own." + statement
    case .needsServer:
      "The jobs of \(path) are not on a server (\(cause)). Use a queue whose location is .postgres."
    // Only of a server.
    case .connectionLost, .cannotConnect, .outcomeUnknown, .clientLibraryMissing, .clientLibraryTooOld, .serverTooOld,
      .serverReadOnly, .conflict:
      serverDescription + statement
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
