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
      // Foundation writes a remote address's path, or nothing at all, depending on the platform.
      guard url.isFileURL else { throw CocoaError(.fileWriteUnsupportedScheme) }
      let path = try end(ofLinksFrom: url.path)
      if let descriptor = descriptor(namedBy: path) {
        mayBePartial = true
        try write(text, to: descriptor)
      } else {
        mayBePartial = try isDevice(path)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: mayBePartial ? [] : .atomic)
      }
    } catch {
      throw Failure(url: url, contents: contents, cause: error, mayBePartial: mayBePartial)
    }
  }

  /// Follows a link to what it names, which need not exist, or to the name of a descriptor.
  private static func end(ofLinksFrom start: String) throws -> String {
    var path = start
    // As many as the system follows.
    for _ in 0..<40 {
      let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
      guard descriptor(namedBy: path) == nil, let next else { return path }
      path =
        next.hasPrefix("/") ? next : URL(fileURLWithPath: path).deletingLastPathComponent().path + "/" + next
    }
    throw POSIXError(.ELOOP)
  }

  /// The descriptor that a path stands for. Opened by that path, a file would be written from its
  /// beginning, or be replaced.
  private static func descriptor(namedBy path: String) -> Int32? {
    let parts = URL(fileURLWithPath: path).standardized.pathComponents
    switch parts.dropLast() {
    case ["/", "dev"]: return ["stdout": StandardStream.output, "stderr": .error][parts[2]]?.rawValue
    case ["/", "dev", "fd"], ["/", "proc", "self", "fd"]: return parts.last.flatMap { Int32($0) }
    default: return nil
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

  /// Whether the file only takes text and must not be replaced, such as a terminal or a pipe.
  ///
  /// Throws if it exists and may not be written: that alone would not keep it from being replaced.
  private static func isDevice(_ path: String) throws -> Bool {
    let manager = FileManager.default
    guard manager.fileExists(atPath: path) else { return false }
    guard manager.isWritableFile(atPath: path) else { throw CocoaError(.fileWriteNoPermission) }
    let type = try manager.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    return type != .typeRegular && type != .typeDirectory
  }
}
