import Foundation

extension DurableQueue {
  /// How files are protected while the device is locked.
  public struct FileProtection: Sendable, Hashable {
    /// The files are not protected.
    public static let unprotected = FileProtection(value: .unprotected)
    /// The files are locked until the user has unlocked the device once since it started.
    public static let untilFirstUnlock = FileProtection(value: .untilFirstUnlock)
    /// While the device is locked, only files that are already open can be read and written.
    public static let unlessOpen = FileProtection(value: .unlessOpen)
    /// The files cannot be read or written while the device is locked.
    public static let complete = FileProtection(value: .complete)

    enum Value { case unprotected, untilFirstUnlock, unlessOpen, complete }

    let value: Value
  }
}

extension DurableQueue.Configuration {
  /// Applies the file protection of the configuration to the files of a database, on platforms that
  /// have it. Ignores failures.
  func protectFiles(of database: String) {
    #if canImport(Darwin)
    for suffix in ["", "-wal", "-shm", "-announcing"] { protect(database + suffix) }
    #endif
  }

  /// Does the same for one file, if it exists.
  func protect(_ path: String) {
    #if canImport(Darwin)
    guard FileManager.default.fileExists(atPath: path) else { return }
    #if !os(macOS)
    if let fileProtection {
      try? FileManager.default.setAttributes([.protectionKey: fileProtection.type], ofItemAtPath: path)
    }
    #endif
    if isExcludedFromBackup {
      var url = URL(filePath: path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try? url.setResourceValues(values)
    }
    #endif
  }
}

#if canImport(Darwin) && !os(macOS)
extension DurableQueue.FileProtection {
  fileprivate var type: FileProtectionType {
    switch value {
    case .unprotected: .none
    case .untilFirstUnlock: .completeUntilFirstUserAuthentication
    case .unlessOpen: .completeUnlessOpen
    case .complete: .complete
    }
  }
}
#endif
