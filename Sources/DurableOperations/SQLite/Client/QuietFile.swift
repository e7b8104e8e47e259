import CompositeOperationsSQLite
import Foundation

/// A database in write-ahead mode that no program has open: it has no log. SQLite is told that the
/// file cannot change, and so makes no files beside it, as reading would otherwise.
///
/// A program may begin to use the file at any time, but not unseen: as long as this holds a read
/// lock, the log that the program makes stays, even if it ends.
struct QuietFile {
  private let path: String

  /// Opens a file and locks it for reading until it is closed. Nil if it is not quiet, or cannot be
  /// opened.
  static func open(_ path: String) -> (file: QuietFile, handle: OpaquePointer)? {
    // SQLite keeps the log beside the file itself.
    let file = QuietFile(path: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    guard file.isQuiet else { return nil }
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    let result = sqlite3_open_v2(file.address, &handle, flags, nil)
    // The lock may have come too late.
    guard result == SQLITE_OK, let handle, lock(handle), file.isQuiet else {
      sqlite3_close_v2(handle)
      return nil
    }
    return (file, handle)
  }

  /// Whether it has no log, and no journal to roll back.
  var isQuiet: Bool {
    !["-wal", "-journal"].contains { FileManager.default.fileExists(atPath: path + $0) }
  }

  /// Locks the file: SQLite does not for a file that cannot change. Locks that are not SQLite's own
  /// would end its other locks in this process.
  private static func lock(_ handle: OpaquePointer) -> Bool {
    var pointer: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &pointer) == SQLITE_OK, let pointer,
      let methods = pointer.pointee.pMethods?.pointee, let read = methods.xRead, let lock = methods.xLock
    else { return false }
    // The versions for writing and reading; 2 means with a log. Without one, reading makes no
    // files, and the lock would keep others from writing.
    var versions: [UInt8] = [0, 0]
    guard read(pointer, &versions, 2, 18) == SQLITE_OK, versions[1] == 2 else { return false }
    return lock(pointer, SQLITE_LOCK_SHARED) == SQLITE_OK
  }

  /// The URI by which SQLite opens it.
  private var address: String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/".utf8)
    let encoded = path.utf8.map { byte in
      if plain.contains(byte) { return String(UnicodeScalar(byte)) }
      return (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
    }
    return "file:\(encoded.joined())?mode=ro&immutable=1"
  }
}
