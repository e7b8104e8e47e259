/// The text of a statement, with states, flags and lanes by their names: `state = \(.waiting)`.
struct SQL: ExpressibleByStringInterpolation, Sendable {
  let text: String

  init(stringLiteral text: String) { self.text = text }

  init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

  init(joining parts: [SQL], by separator: String) { text = parts.map(\.text).joined(separator: separator) }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 2 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: String) { text += literal }

    /// A part of a statement.
    mutating func appendInterpolation(_ part: SQL) { text += part.text }

    mutating func appendInterpolation(_ number: some BinaryInteger) { text += String(number) }

    /// A state, or several, for `IN (…)`.
    mutating func appendInterpolation(_ states: JobState...) { appendList(states.map(\.rawValue)) }

    mutating func appendInterpolation(_ states: Set<JobState>) { appendList(states.map(\.rawValue).sorted()) }

    /// The bits of all of them, in one number.
    mutating func appendInterpolation(flags: JobFlags...) {
      text += String(flags.reduce(into: JobFlags()) { $0.formUnion($1) }.rawValue)
    }

    mutating func appendInterpolation(lane bit: JobLane.Bit) { text += String(bit.rawValue) }

    mutating func appendInterpolation(failing: PrerequisiteFailure...) { appendList(failing.map(\.rawValue)) }

    private mutating func appendList(_ numbers: [Int]) { text += numbers.map(String.init).joined(separator: ", ") }
  }
}
