/// What becomes of the times of a ``JobSchedule`` that passed while no process ran.
public struct JobCatchUp: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
  /// One job, for the latest of them: for a report or a cleanup, which one run brings up to date.
  public static let latest = JobCatchUp(value: .latest)
  /// One job for each of them, oldest first: for work that covers a stretch of time, such as a bill
  /// for each month.
  public static let all = JobCatchUp(value: .all)

  /// Every choice.
  public static let allCases = [latest, all]

  enum Value: String { case latest, all }

  let value: Value
}

extension JobCatchUp {
  /// The choice that is stored under a name; nil for an unknown one.
  public init?(rawValue: String) {
    guard let value = Value(rawValue: rawValue) else { return nil }
    self.init(value: value)
  }

  /// The name under which the choice is stored, such as `latest`.
  public var rawValue: String { value.rawValue }
}
