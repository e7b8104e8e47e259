import CompositeOperations
import Foundation

/// Timelines can be kept, read back, and compared: with ``Timeline/json()`` and
/// ``Timeline/init(contentsOf:)``, or any coder.
///
/// Times are whole nanoseconds, as recorders measure them; fractions are cut off. An entry without
/// `type` is an `Operation`, without `kind` an `operation`, without `queued` one that became known
/// at zero, and without `attempt` the first; what else is missing is nil. Numbers and parents may
/// be any, as in ``entries``. Anything but a timeline is a `DecodingError` that says where and why.
extension Timeline: Codable {
  /// The form that this version writes. It refuses later forms, which have higher numbers.
  private static let form = 1

  private enum CodingKeys: String, CodingKey {
    case form, end, entries
  }

  /// Reads a timeline.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let form = try container.decode(Int.self, forKey: .form)
    guard form == Timeline.form else {
      throw DecodingError.dataCorruptedError(
        forKey: .form, in: container,
        debugDescription: "The timeline is written in form \(form), and this version of the library reads form "
          + "\(Timeline.form) alone.")
    }
    let entries = try container.decode([Entry].self, forKey: .entries)
    self.init(entries: entries, end: try container.decodeIfPresent(Int64.self, forKey: .end).map { .nanoseconds($0) })
  }

  /// Writes the timeline.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Timeline.form, forKey: .form)
    try container.encode(end.nanoseconds, forKey: .end)
    try container.encode(entries, forKey: .entries)
  }
}

extension Timeline.Entry: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, parent, name, type, kind, queued, started, settled, ending, message, thread, attempt, tag
  }

  /// Reads an entry.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func time(_ key: CodingKeys) throws -> Duration? {
      do {
        return try container.decodeIfPresent(Int64.self, forKey: key).map { .nanoseconds($0) }
      } catch {
        // For a number that does not fit, Foundation gives no place.
        throw DecodingError.dataCorruptedError(
          forKey: key, in: container,
          debugDescription: "A time is a whole number of nanoseconds that fits into 64 bits.")
      }
    }
    let ending: Timeline.Ending?
    switch try container.decodeIfPresent(String.self, forKey: .ending) {
    case nil: ending = nil
    case "success"?: ending = .success
    case "failure"?: ending = .failure(message: try container.decodeIfPresent(String.self, forKey: .message) ?? "")
    case "cancelled"?: ending = .cancelled
    case let other?:
      throw DecodingError.dataCorruptedError(
        forKey: .ending, in: container,
        debugDescription:
          "An operation ends with success, failure or cancelled, not with “\(HarmlessText.line(other))”.")
    }
    self.init(
      id: try container.decode(Int.self, forKey: .id), parent: try container.decodeIfPresent(Int.self, forKey: .parent),
      name: try container.decodeIfPresent(String.self, forKey: .name),
      type: try container.decodeIfPresent(String.self, forKey: .type) ?? "Operation",
      kind: try container.decodeIfPresent(Timeline.Kind.self, forKey: .kind) ?? .operation,
      queued: try time(.queued) ?? .zero, started: try time(.started), settled: try time(.settled), ending: ending,
      thread: try container.decodeIfPresent(Timeline.Thread.self, forKey: .thread),
      attempt: try container.decodeIfPresent(Int.self, forKey: .attempt) ?? 1,
      tag: try container.decodeIfPresent(Int.self, forKey: .tag) ?? 0)
  }

  /// Writes the entry.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encodeIfPresent(parent, forKey: .parent)
    try container.encodeIfPresent(name, forKey: .name)
    try container.encode(type, forKey: .type)
    try container.encode(kind, forKey: .kind)
    try container.encode(queued.nanoseconds, forKey: .queued)
    try container.encodeIfPresent(started?.nanoseconds, forKey: .started)
    try container.encodeIfPresent(settled?.nanoseconds, forKey: .settled)
    switch ending {
    case .success: try container.encode("success", forKey: .ending)
    case .failure(let message):
      try container.encode("failure", forKey: .ending)
      try container.encode(message, forKey: .message)
    case .cancelled: try container.encode("cancelled", forKey: .ending)
    case nil: break
    }
    try container.encodeIfPresent(thread, forKey: .thread)
    try container.encode(attempt, forKey: .attempt)
    try container.encode(tag, forKey: .tag)
  }
}

/// A timeline could not be read from a file.
public struct TimelineReadError: Error, Sendable {
  /// The file.
  package let url: URL
  /// Why it could not be read.
  public let cause: any Error
}

extension TimelineReadError: LocalizedError, CustomStringConvertible {
  /// The sentence: which file, why, and what to do.
  public var description: String {
    let place = HarmlessText.line(url.isFileURL ? url.path : url.absoluteString)
    return "The timeline could not be read from “\(place)”: \(reason) Give a file that holds the text of json()."
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

  /// Reads a timeline from a file that holds what ``json()`` gave. Blocks the calling thread until
  /// it is read.
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
