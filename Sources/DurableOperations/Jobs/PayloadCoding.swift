import Foundation

/// The stored form of jobs: JSON with sorted keys, so that equal jobs have equal bytes.
enum PayloadCoding {
  // Never changed after they were made, so that many threads can use them.
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()
  private static let decoder = JSONDecoder()

  static func encode(_ job: some Job) throws -> Data { try encoder.encode(job) }

  static func decode<J: Job>(_ type: J.Type, from data: Data) throws -> J { try decoder.decode(type, from: data) }
}
