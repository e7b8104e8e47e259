import Foundation

/// A periodic job as it is stored.
struct PeriodicRow {
  let name: String
  let kind: String
  let version: Int
  let payload: Data
  let options: JobOptions
  let schedule: JobSchedule
  let catchUp: JobCatchUp
  /// The last occurrence that was enqueued, or when the job was scheduled.
  let lastAt: Int64
  let nextAt: Int64?
}
