package import Foundation

extension DurableQueue {
  /// Looks for what keeps a queue from running well. Nothing is made or changed. On the thread of the caller.
  ///
  /// - Parameter now: what the date is on this machine.
  /// - Returns: what was found, what needs attention first.
  /// - Throws: ``DatabaseError`` if nothing can be seen at all.
  package static func diagnose(
    _ location: Location, limits: DiagnosisLimits = DiagnosisLimits(), now: () -> Date = { Date() }
  ) throws -> [Diagnosis] {
    let found =
      switch location {
      case .file, .existingFile, .readOnlyFile, .memory: try SQLiteDoctor.diagnose(location)
      #if os(macOS) || os(Linux)
      case .postgres(let url, let options), .existingPostgres(let url, let options):
        try PostgresDoctor.diagnose(url, options, limits, now: now)
      #endif
      }
    return Diagnosis.Level.allCases.flatMap { level in found.filter { $0.level == level } }
  }
}
