#if os(macOS) || os(Linux)
/// A type of PostgreSQL, by the number that it has in every database.
struct PostgresType: Equatable, Sendable {
  let number: UInt32

  /// The server infers the type.
  static let inferred = PostgresType(number: 0)
  static let boolean = PostgresType(number: 16)
  static let bytes = PostgresType(number: 17)
  static let integer = PostgresType(number: 20)
  static let smallInteger = PostgresType(number: 21)
  static let shortInteger = PostgresType(number: 23)
  static let text = PostgresType(number: 25)
  static let objectID = PostgresType(number: 26)
  static let json = PostgresType(number: 114)
  static let shortReal = PostgresType(number: 700)
  static let real = PostgresType(number: 701)

  /// The type of arrays of this type.
  var array: PostgresType {
    switch self {
    case .boolean: PostgresType(number: 1000)
    case .bytes: PostgresType(number: 1001)
    case .smallInteger: PostgresType(number: 1005)
    case .shortInteger: PostgresType(number: 1007)
    case .text: PostgresType(number: 1009)
    case .integer: PostgresType(number: 1016)
    case .json: PostgresType(number: 199)
    default: preconditionFailure("An array of the PostgreSQL type \(number) is bound, which has no number here")
    }
  }
}
#endif
