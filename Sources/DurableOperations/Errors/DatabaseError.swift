import CompositeOperationsSQLite
public import Foundation

/// An error of the database of a queue.
///
/// Switch on ``code``; ``description`` names the file or the server, the cause and the remedy.
/// Stored jobs are not lost: a transaction that fails leaves no trace.
public struct DatabaseError: Error, Sendable, Equatable {
  /// What went wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// Another connection held a lock for longer than ``DurableQueue/Configuration/busyTimeout``,
    /// or a statement took longer than the `statementTimeout` of a server's options.
    public static let busy = Code(value: .busy)
    /// The disk of this machine or of the server is full, or the file has reached a size limit.
    public static let diskFull = Code(value: .diskFull)
    /// The file or its folder cannot be written, or was opened for reading only; or the role lacks
    /// a right on the server.
    public static let readOnly = Code(value: .readOnly)
    /// The file cannot be opened or made, or the database of the server cannot hold a queue.
    public static let cannotOpen = Code(value: .cannotOpen)
    /// The file is not a database.
    public static let notADatabase = Code(value: .notADatabase)
    /// There is no such file, or it is another database; or the schema of the server has no tables
    /// of a queue, or older ones.
    public static let notAQueue = Code(value: .notAQueue)
    /// The file, or the data on the server, is damaged.
    public static let corrupt = Code(value: .corrupt)
    /// A newer version of this library made the file or the tables of the server.
    public static let newerSchema = Code(value: .newerSchema)
    /// The SQLite of this system is older than 3.35.
    public static let sqliteTooOld = Code(value: .sqliteTooOld)
    /// The write-ahead log, the file whose name ends in `-wal`, is missing, and with it everything
    /// stored since the file was last opened. The queue goes on with the rest.
    public static let logLost = Code(value: .logLost)
    /// The file was removed, moved or replaced while it was open. The queue stores nothing more: it
    /// would be lost.
    public static let fileLost = Code(value: .fileLost)
    /// Reading or writing failed.
    public static let inputOutput = Code(value: .inputOutput)
    /// The device is locked, and the file is protected until it is unlocked.
    public static let deviceLocked = Code(value: .deviceLocked)
    /// The queue is suspended: see ``DurableQueue/suspend()``.
    public static let suspended = Code(value: .suspended)
    /// A constraint of one of your tables does not hold.
    public static let constraint = Code(value: .constraint)
    /// The statement is wrong; also for errors that have no code of their own.
    public static let statement = Code(value: .statement)
    /// The closure of a transaction began or ended a transaction itself, or used its transaction
    /// after the end.
    public static let transactionEnded = Code(value: .transactionEnded)
    /// A statement in a transaction would have changed the connection for good: a PRAGMA with a
    /// value, ATTACH, or CREATE TEMP TABLE; on a server SET without LOCAL, PREPARE, LISTEN and the
    /// like.
    public static let settingOfTheQueue = Code(value: .settingOfTheQueue)

    /// The call needs a server, but the jobs are stored in a file.
    public static let needsServer = Code(value: .needsServer)

    /// The code in a word, such as `busy`.
    public var description: String { value.rawValue }

    /// The connection to the server was lost. Nothing of the call is stored.
    public static let connectionLost = Code(value: .connectionLost)
    /// There is no connection to the server: it is unreachable, refuses this role, or has no
    /// connection left. A queue also throws this while it waits for the server to return.
    public static let cannotConnect = Code(value: .cannotConnect)
    /// The connection was lost during the commit: the transaction may or may not be stored.
    public static let outcomeUnknown = Code(value: .outcomeUnknown)
    /// libpq, the client library of PostgreSQL, is not installed.
    public static let clientLibraryMissing = Code(value: .clientLibraryMissing)
    /// libpq is older than version 14.
    public static let clientLibraryTooOld = Code(value: .clientLibraryTooOld)
    /// The server is older than PostgreSQL 13.
    public static let serverTooOld = Code(value: .serverTooOld)
    /// The server accepts no changes: it is a standby, or is set to read-only.
    public static let serverReadOnly = Code(value: .serverReadOnly)
    /// The transaction was in conflict with concurrent transactions.
    public static let conflict = Code(value: .conflict)

    /// The codes over which the library itself switches, without a `default`.
    enum Value: String {
      case busy, diskFull, readOnly, cannotOpen, notADatabase, notAQueue, corrupt, newerSchema, sqliteTooOld,
        logLost, fileLost, inputOutput, deviceLocked, suspended, constraint, statement, transactionEnded,
        settingOfTheQueue,
        connectionLost, cannotConnect, outcomeUnknown, clientLibraryMissing, clientLibraryTooOld, serverTooOld,
        serverReadOnly, conflict, needsServer
    }

    let value: Value
  }

  /// The kind of database that stores the jobs.
  package struct Engine: Sendable, Hashable, CustomStringConvertible {
    /// A file or memory of SQLite.
    package static let sqlite = Engine(description: "SQLite")
    /// A schema of a PostgreSQL server.
    package static let postgres = Engine(description: "PostgreSQL")

    /// The name of the engine.
    package let description: String
  }

  /// What went wrong.
  public let code: Code
  /// The kind of database that stores the jobs.
  package let engine: Engine
  /// SQLite's extended result code; 0 for an error of another origin.
  package let extendedCode: Int32
  /// PostgreSQL's five-character code of the error; nil for an error of another origin.
  public let sqlState: String?
  /// The message of SQLite, PostgreSQL or the queue.
  public let message: String
  /// The statement that failed, if any.
  package let sql: String?
  /// Where the jobs are stored: the file, or `:memory:`; or the server and its database, without a
  /// role or a password.
  public let path: String

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

  /// The error for a file whose log should exist, but is missing.
  static func logLost(_ path: String) -> DatabaseError {
    DatabaseError(.logLost, message: "there is no \(path)-wal", path: path)
  }

  /// The error for a file that is no longer the one at its path.
  static func fileLost(_ path: String) -> DatabaseError {
    DatabaseError(.fileLost, message: "it was removed, moved or replaced while it was open", path: path)
  }

  /// The error for a change through a queue that was opened for reading only.
  static func openedToBeRead(_ path: String) -> DatabaseError {
    DatabaseError(.readOnly, message: "its location is readOnlyFile", path: path)
  }

  /// Makes the error for an error of SQLite.
  ///
  /// - Parameter systemCode: the system's error behind it, if there is one.
  init(resultCode: Int32, message: String, systemCode: Int32 = 0, sql: String?, path: String) {
    let code = Self.code(for: resultCode, message: message, systemCode: systemCode)
    var message = message
    #if os(Linux)
    if code == .diskFull, systemCode != EDQUOT, let free = FreeSpace.beside(path) {
      message = "\(free >> 10) KiB are free on its disk: \(message)"
    }
    #endif
    self.init(code, extendedCode: resultCode, message: message, sql: sql, path: path)
  }

  /// `SQLITE_IOERR_SHMSIZE`, a macro that Swift does not import.
  private static let sharedMemorySize = SQLITE_IOERR | 19 << 8

  /// Whether devices of this platform lock their files. On others, the cause is a missing
  /// permission.
  private static var canBeLocked: Bool {
    #if canImport(Darwin)
    true
    #else
    false
    #endif
  }

  private static func code(for resultCode: Int32, message: String, systemCode: Int32) -> Code {
    switch resultCode & 0xFF {
    // A statement that is not authorized has another message.
    case SQLITE_AUTH where message != "not authorized": .deviceLocked
    case SQLITE_IOERR where systemCode == EPERM && canBeLocked: .deviceLocked
    // SQLite reports a full disk only for writes into the file itself, and only for the first of
    // the two codes.
    case SQLITE_IOERR where systemCode == ENOSPC || systemCode == EDQUOT: .diskFull
    case SQLITE_CANTOPEN where systemCode == ENOSPC || systemCode == EDQUOT: .diskFull
    // The index of the log could not grow. SQLite does not always keep the system's error.
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
  /// A sentence: what failed in which file, why, and what to do.
  public var description: String {
    let cause = extendedCode == 0 ? message : "\(message), SQLite code \(extendedCode)"
    let statement = sql.map { " The statement was: \($0)" } ?? ""
    return switch code.value {
    case _ where engine == .postgres: serverDescription + statement
    case .busy:
      "The database \(path) is locked by another connection (\(cause)). Try again, raise busyTimeout, or look for a "
        + "program that keeps a transaction open." + statement
    case .diskFull:
      "There is no room for the database \(path) (\(cause)). Free space on the disk, and try again; everything stored is "
        + "still there."
    case .readOnly where extendedCode == 0:
      "The database \(path) was opened for reading only (\(cause)). Open it with another location to change it."
    case .readOnly:
      "The database \(path) cannot be written to (\(cause)). Give this user the right to write the file and its "
        + "folder, where SQLite keeps its write-ahead log."
    case .cannotOpen where extendedCode == 0:
      "The database \(path) cannot be opened: \(message)."
    case .cannotOpen:
      "The database \(path) cannot be opened (\(cause)). Check that it is a file, and that this user may read it and, to "
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
      "The write-ahead log of the database \(path) is missing (\(cause)): everything stored since it was last opened is lost. The "
        + "queue goes on with the rest. Keep the file with -wal at its end beside it when it is moved or copied."
    case .fileLost:
      "The database \(path) is no longer in its place (\(cause)). Nothing was stored. End all programs that use it; "
        + "then put it back, or start with a new file."
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
    // Only for a server.
    case .connectionLost, .cannotConnect, .outcomeUnknown, .clientLibraryMissing, .clientLibraryTooOld, .serverTooOld,
      .serverReadOnly, .conflict:
      serverDescription + statement
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
