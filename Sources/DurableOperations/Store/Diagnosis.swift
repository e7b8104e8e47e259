/// A finding about one subject of a queue's database: for the tool.
package struct Diagnosis: Sendable, Equatable {
  package enum Level: String, Sendable, CaseIterable {
    /// An operator should act.
    case attention
    /// It could not be read.
    case unknown
    case fine
  }

  /// The subject, such as “dead rows”.
  package let subject: String
  package let level: Level
  /// The finding, as a sentence.
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
  /// The limits from which on a finding needs attention.
  package struct DiagnosisLimits: Sendable {
    /// The age of a snapshot.
    package var snapshotAge: Duration = .seconds(60)
    /// The minimum number of dead rows, however large the table is.
    package var deadRows: Int64 = 10_000
    /// The difference between the clocks of the server and of this machine.
    package var clockDifference: Duration = .seconds(2)
    /// The number of free connections of the server.
    package var freeConnections: Int64 = 10
    /// How long a session waits that is not served while another one has a transaction open.
    package var poolerPatience: Duration = .seconds(5)

    package init() {}
  }
}
