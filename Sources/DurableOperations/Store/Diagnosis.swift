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
}
