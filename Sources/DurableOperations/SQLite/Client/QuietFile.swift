import CompositeOperationsSQLite
import Foundation

/// A database in write-ahead mode that no program has open: there is no log beside it. SQLite is told to take it for one that
/// cannot change, and makes no files beside it then, which reading takes otherwise.
///
/// A program may begin to use it at any time. It cannot do so unseen: as long as the file is locked to be read, the log that it
/// makes stays, even if it ends.
struct QuietFile {
  private let path: String

  /// Opens a file and locks it to be read, until it is closed. Nil if it is not quiet, or cannot be opened.
  static func open(_ path: String) -> (file: QuietFile, handle: OpaquePointer)? {
    // SQLite keeps the log beside the file itself.
    let file = QuietFile(path: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    guard file.isQuiet else { return nil }
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    let result = sqlite3_open_v2(file.address, &handle, flags, nil)
    // It may have been locked too late.
    guard result == SQLITE_OK, let handle, lock(handle), file.isQuiet else {
      sqlite3_close_v2(handle)
      return nil
    }
    return (file, handle)
  }

  /// Without a log, and a journal that has to be rolled back.
  var isQuiet: Bool {
    !["-wal", "-journal"].contains { FileManager.default.fileExists(atPath: path + $0) }
  }

  /// SQLite locks nothing in a file that cannot change. Locks that are not its own would end its others in this process.
  private static func lock(_ handle: OpaquePointer) -> Bool {
    var pointer: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &pointer) == SQLITE_OK, let pointer,
      let methods = pointer.pointee.pMethods?.pointee, let read = methods.xRead, let lock = methods.xLock
    else { return false }
    // The versions for writing and reading; 2 is that with a log. Without one, reading makes no files, and the lock would keep
    // others from writing.
    var versions: [UInt8] = [0, 0]
    guard read(pointer, &versions, 2, 18) == SQLITE_OK, versions[1] == 2 else { return false }
    return lock(pointer, SQLITE_LOCK_SHARED) == SQLITE_OK
  }

  /// What SQLite opens it by.
  private var address: String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/".utf8)
    let encoded = path.utf8.map { byte in
      if plain.contains(byte) { return String(UnicodeScalar(byte)) }
      return (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
    }
    return "file:\(encoded.joined())?mode=ro&immutable=1"
  }
}
