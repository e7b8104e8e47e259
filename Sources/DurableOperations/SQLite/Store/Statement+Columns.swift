extension Statement {
  /// The state in a column; nil if a damaged row has an unknown one.
  func state(_ column: Int32) -> JobState? { Int(exactly: integer(column)).flatMap { JobState(rawValue: $0) } }

  func flags(_ column: Int32) -> JobFlags { JobFlags(rawValue: integer(column)) }
}
