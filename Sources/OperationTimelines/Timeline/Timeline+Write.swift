import CompositeOperations
import Foundation

/// A timeline could not be written to a file.
public struct TimelineWriteError: Error, Sendable {
  /// The file that was to be written.
  public let url: URL
  /// What stood in the way.
  public let cause: any Error
}

extension TimelineWriteError: LocalizedError, CustomStringConvertible {
  /// The sentence: which file, why, and what to do.
  public var description: String {
    let place = HarmlessText.line(url.isFileURL ? url.path : url.absoluteString)
    return "The timeline could not be written to “\(place)”: \(reason) Nothing was left there; write to a folder that "
      + "exists and that this program may write to."
  }

  private var reason: String {
    let error = cause as NSError
    let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
    let text = underlying?.domain == NSPOSIXErrorDomain ? underlying!.localizedDescription : error.localizedDescription
    return text.hasSuffix(".") ? text : text + "."
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

/// Each replaces the file as a whole or leaves what was there: nobody finds a file that is half written. A link stays, and
/// what it points to is replaced; a device, such as `/dev/stdout`, or a pipe is written to. Blocks the calling thread until
/// it is written.
extension Timeline {
  /// Writes ``chromeTrace()`` to a file.
  ///
  /// - Parameter url: the file, which is replaced if it exists.
  /// - Throws: ``TimelineWriteError``.
  public func write(chromeTrace url: URL) throws {
    try write(chromeTrace(), to: url)
  }

  /// Writes ``textTree()`` to a file.
  ///
  /// - Parameter url: the file, which is replaced if it exists.
  /// - Throws: ``TimelineWriteError``.
  public func write(textTree url: URL) throws {
    try write(textTree(), to: url)
  }

  /// Writes the timeline itself, as JSON, for ``init(contentsOf:)``.
  ///
  /// - Parameter url: the file, which is replaced if it exists.
  /// - Throws: ``TimelineWriteError``.
  public func write(json url: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try write(String(decoding: encoder.encode(self), as: UTF8.self) + "\n", to: url)
  }

  /// Writes what a timeline has become.
  func write(_ text: String, to url: URL) throws {
    do {
      // Foundation writes a remote address's path, or nothing at all, depending on the platform.
      guard url.isFileURL else { throw CocoaError(.fileWriteUnsupportedScheme) }
      if try isDevice(url) {
        try Data(text.utf8).write(to: url)
      } else {
        // What a link points to is replaced, not the link.
        try Data(text.utf8).write(to: url.resolvingSymlinksInPath(), options: .atomic)
      }
    } catch {
      throw TimelineWriteError(url: url, cause: error)
    }
  }

  /// Whether the file is one that only takes text and must not be replaced, such as a terminal or a pipe. Throws if it
  /// exists and may not be written, which would not be in the way of replacing it.
  private func isDevice(_ url: URL) throws -> Bool {
    let manager = FileManager.default
    guard manager.fileExists(atPath: url.path) else { return false }
    guard manager.isWritableFile(atPath: url.path) else { throw CocoaError(.fileWriteNoPermission) }
    // Not `stat`, for which Apple wants a reason in the privacy manifest of every app. A link such as `/dev/stdout` may
    // lead to a pipe that has no path, and so no type to be asked for.
    let type = try? manager.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)[.type] as? FileAttributeType
    return type != .typeRegular && type != .typeDirectory
  }
}
