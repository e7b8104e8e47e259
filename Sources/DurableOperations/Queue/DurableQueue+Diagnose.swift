package import Foundation

extension DurableQueue {
  /// Looks for problems of a queue, without changing anything, on the thread of the caller.
  ///
  /// - Parameter now: the date on this machine.
  /// - Returns: the findings, the most urgent first.
  /// - Throws: ``DatabaseError`` if nothing can be read at all.
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
