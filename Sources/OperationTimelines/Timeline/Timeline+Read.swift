import CompositeOperations
import Foundation

/// A timeline could not be read from a file.
public struct TimelineReadError: Error, Sendable {
  /// The file.
  public let url: URL
  /// What stood in the way.
  public let cause: any Error
}

extension TimelineReadError: LocalizedError, CustomStringConvertible {
  /// The sentence: which file, why, and what to do.
  public var description: String {
    let place = HarmlessText.line(url.isFileURL ? url.path : url.absoluteString)
    return "The timeline could not be read from “\(place)”: \(reason) Give a file that holds what json() gave."
  }

  private var reason: String {
    guard let error = cause as? DecodingError else {
      let text = (cause as NSError).localizedDescription
      return text.hasSuffix(".") ? text : text + "."
    }
    let context: DecodingError.Context
    var text = ""
    switch error {
    case .keyNotFound(let key, let found): (text, context) = ("“\(key.stringValue)” is missing.", found)
    case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
      (text, context) = (found.debugDescription, found)
    @unknown default: return "\(error)"
    }
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    if !text.hasSuffix(".") { text += "." }
    return HarmlessText.line(String((path.isEmpty ? "" : "At \(path.drop { $0 == "." }): ") + text.prefix(500)))
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension Timeline {
  /// The timeline itself as JSON in one line, for ``init(contentsOf:)``.
  public func json() -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else {
      preconditionFailure("A timeline of texts and whole numbers can be encoded.")
    }
    return String(decoding: data, as: UTF8.self) + "\n"
  }

  /// The size up to which a file is read, 512 MiB: some millions of entries.
  private static let maxFileSize = 512 << 20

  /// Reads a timeline from a file that holds what ``json()`` gave. Blocks the calling thread until it is read.
  ///
  /// - Parameter url: the file, of at most 512 MiB.
  /// - Throws: ``TimelineReadError``, whatever is in the file.
  public init(contentsOf url: URL) throws {
    do {
      guard url.isFileURL else { throw CocoaError(.fileReadUnsupportedScheme) }
      let file = try FileHandle(forReadingFrom: url)
      defer { try? file.close() }
      var data = Data()
      while let more = try file.read(upToCount: 1 << 20), !more.isEmpty {
        data += more
        guard data.count <= Timeline.maxFileSize else { throw CocoaError(.fileReadTooLarge) }
      }
      self = try JSONDecoder().decode(Timeline.self, from: data)
    } catch {
      throw TimelineReadError(url: url, cause: error)
    }
  }
}
