import Foundation

/// The results for programs.
struct JSONReport: Codable, Sendable {
  let machine: Machine
  let rows: [RowResult]

  init(machine: Machine, rows: [RowResult]) {
    self.machine = machine
    self.rows = rows
  }

  /// Reads what `document()` returned in another run.
  init(contentsOfFile path: String) throws {
    do {
      self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(filePath: path)))
    } catch {
      throw BenchmarkError("\(path) holds no results: \(error)")
    }
  }

  /// One JSON document with the machine and every row.
  func document() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
  }
}
