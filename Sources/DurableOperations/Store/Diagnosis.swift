package import Foundation

/// What a look at the place of a queue has found, about one subject: for the tool.
package struct Diagnosis: Sendable, Equatable {
  package enum Level: String, Sendable, CaseIterable {
    /// Something is to be done.
    case attention
    /// It could not be seen.
    case unknown
    case fine
  }

  /// What was looked at, such as “dead rows”.
  package let subject: String
  package let level: Level
  /// What there is, in a sentence.
  package let finding: String
  /// Why it matters; nil where all is well.
  package let reason: String?
  /// What to do; nil where all is well.
  package let remedy: String?

  static func fine(_ subject: String, _ finding: String) -> Diagnosis {
    Diagnosis(subject: subject, level: .fine, finding: finding, reason: nil, remedy: nil)
  }

  static func attention(_ subject: String, _ finding: String, why reason: String, remedy: String) -> Diagnosis {
    Diagnosis(subject: subject, level: .attention, finding: finding, reason: reason, remedy: remedy)
  }

  static func unknown(_ subject: String, _ finding: String, why reason: String, remedy: String) -> Diagnosis {
    Diagnosis(subject: subject, level: .unknown, finding: finding, reason: reason, remedy: remedy)
  }
}

extension DurableQueue {
  /// From where on what is found needs attention.
  package struct DiagnosisLimits: Sendable {
    /// How old a snapshot is.
    package var snapshotAge: Duration = .seconds(60)
    /// How many dead rows a table has at least, however large it is.
    package var deadRows: Int64 = 10_000
    /// By how much the clocks of the server and of this machine differ.
    package var clockDifference: Duration = .seconds(2)
    /// How many further connections the server takes.
    package var freeConnections: Int64 = 10

    package init() {}
  }

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
