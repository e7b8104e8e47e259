import CompositeOperations
import Foundation

/// The stored form of jobs: JSON with sorted keys, so that equal jobs have equal bytes.
enum PayloadCoding {
  /// The writer of a thread; nil while it is in use.
  private final class Workplace {
    var writer: JSONWriter?
  }

  private static let workplace = ThreadLocal { Workplace() }
  /// The most bytes that a writer may keep from one job to the next.
  private static let largestWriter = 1 << 16

  // Never changed after creation, so that many threads can use it.
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()
  private static let decoder = JSONDecoder()

  /// Returns the bytes that ``encoder`` would return. If a job fails, or a ``JSONWriter`` cannot
  /// write it, ``encoder`` encodes it again: for the same error, or for the bytes.
  static func encode(_ job: some Encodable) throws -> Data {
    let workplace = workplace.current
    // While a job is being encoded, it may enqueue another.
    var writer = workplace.writer.take() ?? JSONWriter()
    try? writer.write(job, nil)
    let result: Data? = writer.document.isComplete ? writer.document.text.data : nil
    let failure = writer.document.failure
    writer.document.removeAll()
    // A container that the job has kept must not write into the next job.
    if isKnownUniquelyReferenced(&writer), writer.document.capacity <= largestWriter {
      workplace.writer = writer
    }
    if let result { return result }
    if failure == .tooDeep { throw unencodable(job, "Unable to encode the given top-level value to JSON.") }
    let encoded = try encoder.encode(job)
    // It writes a `Decimal` that is not a number as NaN.
    guard JSONScanner.isJSON(encoded) else {
      throw unencodable(job, "The value is no JSON. It may have a Decimal that is not a number.")
    }
    return encoded
  }

  private static func unencodable(_ job: some Encodable, _ description: String) -> EncodingError {
    .invalidValue(job, EncodingError.Context(codingPath: [], debugDescription: description))
  }

  static func decode<J: Job>(_ type: J.Type, from data: Data) throws -> J { try decoder.decode(type, from: data) }
}
