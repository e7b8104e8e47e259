import CompositeOperations
import Foundation

/// Writes text to files that a command line names.
///
/// A file is replaced as a whole or left as it was: no other program finds one that is half
/// written. A link stays, and what it names is replaced, or made; a device or a pipe is written to.
/// `/dev/stdout` and other names of an open descriptor stand for that descriptor: writing goes on
/// where the program has stopped, also in a file.
package enum OutputFile {
  /// A file could not be written.
  package struct Failure: Error, LocalizedError, CustomStringConvertible {
    package let url: URL
    let contents: String
    let cause: any Error
    /// Whether it was written to what is there, and not to a new file beside it.
    let mayBePartial: Bool

    /// The sentence: what could not be written to which file, why, and what to do.
    package var description: String {
      let place = HarmlessText.line(url.isFileURL ? url.path : url.absoluteString)
      let remedy =
        mayBePartial
        ? "A part of it may have been written. Check where the output goes."
        : "Nothing was left there; write to a folder that exists and that this program may write to."
      return "The \(contents) could not be written to “\(place)”: \(reason) \(remedy)"
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
    var mayBePartial = false
    do {
      let target = try FileTarget(of: url)
      if let descriptor = target.descriptor {
        mayBePartial = true
        try write(text, to: descriptor)
      } else {
        // A file that may not be written could still be replaced.
        let (manager, path) = (FileManager.default, target.url.path)
        if manager.fileExists(atPath: path), !manager.isWritableFile(atPath: path) {
          throw CocoaError(.fileWriteNoPermission)
        }
        mayBePartial = !target.isReplaceable
        try Data(text.utf8).write(to: target.url, options: mayBePartial ? [] : .atomic)
      }
    } catch {
      throw Failure(url: url, contents: contents, cause: error, mayBePartial: mayBePartial)
    }
  }

  private static func write(_ text: String, to descriptor: Int32) throws {
    do {
      try StandardStream.write(text, to: descriptor)
    } catch let error where error.isBrokenPipe {
      // The reader has seen enough.
    } catch {
      throw POSIXErrorCode(rawValue: error.code).map { POSIXError($0) } ?? error
    }
  }
}
