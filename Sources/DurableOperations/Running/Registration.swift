import CompositeOperations
import Foundation

/// What is registered for a kind: how a stored job becomes an operation.
struct Registration: Sendable {
  let kind: String
  let version: Int
  let limit: Int
  /// Throws a `JobError` if the stored form does not fit, and any error of the user's closure.
  let makeOperation: @Sendable (ClaimedJob, JobContext) throws -> Operation

  init<J: Job>(
    _ type: J.Type, limit: Int, upgrade: (@Sendable (Data, Int) throws -> Data)?,
    makeOperation: @escaping @Sendable (J, JobContext) throws -> Operation
  ) {
    kind = J.kind
    version = J.version
    self.limit = limit
    self.makeOperation = { claimed, context in
      guard claimed.version <= J.version else {
        throw JobError(.newerVersion(stored: claimed.version, known: J.version), id: claimed.id, kind: J.kind)
      }
      let job: J
      do {
        var payload = claimed.payload
        if claimed.version < J.version, let upgrade { payload = try upgrade(payload, claimed.version) }
        job = try PayloadCoding.decode(J.self, from: payload)
      } catch {
        throw JobError(.undecodable, id: claimed.id, kind: J.kind, cause: error)
      }
      return try makeOperation(job, context)
    }
  }
}
