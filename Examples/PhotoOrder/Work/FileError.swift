import Foundation

/// A file or folder with which something could not be done: what, why, and what to do.
struct FileError: Error, Equatable, CustomStringConvertible {
  let problem: String
  let remedy: String

  init(_ problem: String, remedy: String) {
    self.problem = problem
    self.remedy = remedy
  }

  /// - Parameter action: what failed, such as `a.jpg cannot be read`.
  init(_ action: String, _ error: any Error, remedy: String) {
    self.init("\(action): \(Self.reason(error)).", remedy: remedy)
  }

  var description: String { "\(problem) \(remedy)" }

  /// The system's word for what went wrong, which Foundation hides in different places.
  static func reason(_ error: any Error) -> String {
    var error = error as NSError
    while error.domain != NSPOSIXErrorDomain, let inner = error.userInfo[NSUnderlyingErrorKey] as? NSError {
      error = inner
    }
    if error.domain == NSPOSIXErrorDomain { return String(cString: strerror(Int32(error.code))) }
    return switch (error as? CocoaError)?.code {
    case .fileNoSuchFile, .fileReadNoSuchFile: "No such file or directory"
    case .fileReadNoPermission, .fileWriteNoPermission: "Permission denied"
    case .fileWriteOutOfSpace: "No space left on device"
    case .fileWriteVolumeReadOnly: "Read-only file system"
    case .fileWriteFileExists: "File exists"
    case .fileWriteInvalidFileName: "File name too long"
    // A sentence, which the caller ends.
    default: error.localizedDescription.replacing(/\.$/, with: "")
    }
  }
}
