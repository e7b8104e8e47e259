import CompositeOperations
import Foundation

/// A job in its stored form, with its options, to be enqueued with others in one call.
public struct JobRequest: Sendable {
  let kind: String
  let version: Int
  private let encoded: Result<Data, any Error>
  /// How the job runs.
  package var options: JobOptions
  /// For a periodic job, the time of its schedule.
  var occurrence: Int64?

  /// Makes a request and encodes the job. If encoding fails, the call that enqueues the request
  /// throws the error.
  ///
  /// Traps if the kind is empty.
  ///
  /// - Parameters:
  ///   - job: the job.
  ///   - options: how the job runs.
  public init<J: Job>(_ job: J, options: JobOptions = JobOptions()) {
    requireKind(of: J.self)
    self.init(encoding: job, options: options)
  }

  /// - Parameter job: a job whose kind is not empty.
  init<J: Job>(encoding job: J, options: JobOptions) {
    kind = J.kind
    version = J.version
    encoded = Result { try PayloadCoding.encode(job) }
    self.options = options
  }

  init(kind: String, version: Int, payload: Data, options: JobOptions, occurrence: Int64?) {
    self.kind = kind
    self.version = version
    encoded = .success(payload)
    self.options = options
    self.occurrence = occurrence
  }

  /// The job as JSON.
  var payload: Data {
    get throws {
      do { return try encoded.get() } catch { throw JobError(.notEncodable, kind: kind, cause: error) }
    }
  }

  /// Throws if the job cannot be stored. Traps if its options make no sense.
  func check(maxPayloadSize: Int) throws {
    options.check()
    let size = try payload.count
    guard size <= maxPayloadSize else {
      throw JobError(.payloadTooLarge(size: size, limit: maxPayloadSize), kind: kind)
    }
  }
}

extension JobRequest {
  /// The positions of the jobs of one call that wait for others. Of several with one number only
  /// the last one counts: it has replaced the others.
  static func positions(ofDependents jobs: [JobRequest], storedAs ids: [JobID]) -> [Int] {
    let dependents = jobs.indices.filter { !jobs[$0].options.dependsOn.isEmpty }
    guard !dependents.isEmpty else { return [] }
    let last = Dictionary(zip(ids, ids.indices), uniquingKeysWith: { $1 })
    return dependents.filter { last[ids[$0]] == $0 }
  }
}
