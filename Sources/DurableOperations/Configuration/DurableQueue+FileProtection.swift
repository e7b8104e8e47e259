import Foundation

extension DurableQueue {
  /// How files are protected while the device is locked.
  public enum FileProtection: Sendable, Hashable {
    /// Not at all.
    case none
    /// Until the device was unlocked once since it was started.
    case untilFirstUnlock
    /// They cannot be read while the device is locked; those that are open can.
    case unlessOpen
    /// They cannot be read or written while the device is locked.
    case complete
  }
}

extension DurableQueue.Configuration {
  /// Sets what the configuration says of the files of a database, where the platform knows it. What cannot be set stays.
  func protectFiles(of database: String) {
    #if canImport(Darwin)
    for suffix in ["", "-wal", "-shm", "-reserve", "-announcing"] { protect(database + suffix) }
    #endif
  }

  /// The same for one file, if it is there.
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
    switch self {
    case .none: .none
    case .untilFirstUnlock: .completeUntilFirstUserAuthentication
    case .unlessOpen: .completeUnlessOpen
    case .complete: .complete
    }
  }
}
#endif
