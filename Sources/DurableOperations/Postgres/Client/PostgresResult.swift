#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// The result of a statement.
final class PostgresResult: @unchecked Sendable {  // read only once it is there
  let handle: OpaquePointer
  let library: PostgresLibrary
  let form: PostgresStatement.Form

  init(_ handle: OpaquePointer, library: PostgresLibrary, form: PostgresStatement.Form) {
    self.handle = handle
    self.library = library
    self.form = form
  }

  deinit {
    library.functions.clear(handle)
  }

  /// How many rows there are.
  var count: Int { Int(library.functions.ntuples(handle)) }

  var columnCount: Int { Int(library.functions.nfields(handle)) }

  var columnNames: [String] {
    (0..<Int32(columnCount)).map { library.text(library.functions.fname(handle, $0)) }
  }

  /// How many rows the statement changed or returned.
  var changes: Int { Int(library.text(library.functions.cmdTuples(handle))) ?? 0 }

  /// The command, such as “INSERT 0 1”.
  var command: String { library.text(library.functions.cmdStatus(handle)) }

  /// Whether the statement was one that changes rows.
  var isOfChange: Bool {
    ["INSERT ", "UPDATE ", "DELETE ", "MERGE "].contains(where: command.hasPrefix)
  }

  func row(_ index: Int) -> PostgresRow {
    precondition(index >= 0 && index < count, "The row \(index) of a result with \(count) rows is read")
    return PostgresRow(result: self, index: Int32(index))
  }

  /// Calls `body` at each row.
  func forEachRow(_ body: (PostgresRow) throws -> Void) rethrows {
    for index in 0..<Int32(count) { try body(PostgresRow(result: self, index: index)) }
  }

  /// The rows, as `body` reads them.
  func map<R>(_ body: (PostgresRow) throws -> R) rethrows -> [R] {
    try (0..<Int32(count)).map { try body(PostgresRow(result: self, index: $0)) }
  }

  /// The first row, as `body` reads it; nil if there is none.
  func first<R>(_ body: (PostgresRow) throws -> R) rethrows -> R? {
    count == 0 ? nil : try body(PostgresRow(result: self, index: 0))
  }
}
#endif
