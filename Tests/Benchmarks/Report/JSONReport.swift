import Foundation

/// The results for programs.
struct JSONReport: Codable, Sendable {
  let machine: Machine
  let rows: [RowResult]

  /// One JSON document with the machine and every row.
  static func document(of results: [RowResult], machine: Machine) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(JSONReport(machine: machine, rows: results))
    return String(decoding: data, as: UTF8.self) + "\n"
  }
}
