import CompositeOperations
import Foundation

/// A job that is ready to be stored.
struct EncodedJob: Sendable {
  let kind: String
  let version: Int
  let payload: Data
  var options: JobOptions
  /// The time of its schedule that a periodic job is for.
  var occurrence: Int64?

  init<J: Job>(_ job: J, options: JobOptions, maxPayloadSize: Int) throws {
    kind = J.kind
    version = J.version
    self.options = options
    do {
      payload = try PayloadCoding.encode(job)
    } catch {
      throw JobError(.notEncodable, kind: kind, underlying: error)
    }
    guard payload.count <= maxPayloadSize else {
      throw JobError(.payloadTooLarge(size: payload.count, limit: maxPayloadSize), kind: kind)
    }
  }

  init(kind: String, version: Int, payload: Data, options: JobOptions, occurrence: Int64?) {
    self.kind = kind
    self.version = version
    self.payload = payload
    self.options = options
    self.occurrence = occurrence
  }
}
