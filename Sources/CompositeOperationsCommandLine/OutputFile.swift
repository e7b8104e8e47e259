import CompositeOperations
import Foundation

/// Writes text to files that a command line names.
///
/// A file is replaced as a whole or left as it was: no other program finds one that is half
/// written. A link stays, and what it points to is replaced; a device, such as `/dev/stdout`, or a
/// pipe is written to.
package enum OutputFile {
  /// A file could not be written.
  package struct Failure: Error, LocalizedError, CustomStringConvertible {
    package let url: URL
    let contents: String
    let cause: any Error

    /// The sentence: what could not be written to which file, why, and what to do.
    package var description: String {
      let place = HarmlessText.line(url.isFileURL ? url.path : url.absoluteString)
      return "The \(contents) could not be written to “\(place)”: \(reason) Nothing was left there; write to a folder "
        + "that exists and that this program may write to."
    }

    package var errorDescription: String? { description }

    private var reason: String {
      let error = cause as NSError
      let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
      let isPOSIX = underlying?.domain == NSPOSIXErrorDomain
      let text = isPOSIX ? underlying!.localizedDescription : error.localizedDescription
      return text.hasSuffix(".") ? text : text + "."
    }
  }

  /// Writes a text to a file. Blocks the calling thread until it is written.
  ///
  /// - Parameters:
  ///   - text: the contents.
  ///   - url: the file, which is replaced if it exists.
  ///   - contents: what the text is, in a word, such as `timeline`.
  package static func write(_ text: String, to url: URL, as contents: String) throws(Failure) {
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
      throw Failure(url: url, contents: contents, cause: error)
    }
  }

  /// Whether the file only takes text and must not be replaced, such as a terminal or a pipe.
  ///
  /// Throws if it exists and may not be written: that alone would not keep it from being replaced.
  private static func isDevice(_ url: URL) throws -> Bool {
    let manager = FileManager.default
    guard manager.fileExists(atPath: url.path) else { return false }
    guard manager.isWritableFile(atPath: url.path) else { throw CocoaError(.fileWriteNoPermission) }
    // A link such as `/dev/stdout` may lead to a pipe that has no path, and so no type to ask for.
    let type = try? manager.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)[.type] as? FileAttributeType
    return type != .typeRegular && type != .typeDirectory
  }
}
