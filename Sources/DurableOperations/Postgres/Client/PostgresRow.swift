#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// A row of a result in binary form. Columns count from 0.
struct PostgresRow {
  let result: PostgresResult
  let index: Int32

  /// A whole number, or a truth value as 1 or 0; 0 for NULL, as with SQLite.
  func integer(_ column: Int32) -> Int64 { optionalInteger(column) ?? 0 }

  func optionalInteger(_ column: Int32) -> Int64? {
    guard let bytes = bytes(column) else { return nil }
    return Self.integer(in: bytes)
  }

  func bool(_ column: Int32) -> Bool { integer(column) != 0 }

  func text(_ column: Int32) -> String? { bytes(column).map { String(decoding: $0, as: UTF8.self) } }

  func data(_ column: Int32) -> Data? { bytes(column).map { Data($0) } }

  /// An array of whole numbers; nil for NULL. NULL elements are 0.
  func integers(_ column: Int32) -> [Int64]? { elements(column) { $0.map(Self.integer(in:)) ?? 0 } }

  func isNull(_ column: Int32) -> Bool { result.library.functions.getisnull(result.handle, index, column) == 1 }

  /// The bytes of a value; nil for NULL. They belong to the result.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer? {
    let functions = result.library.functions
    // Without a check of the row and the column, libpq would write a notice and return NULL.
    if functions.getisnull(result.handle, index, column) == 1 {
      precondition(column >= 0 && column < result.columnCount, "The column \(column) of \(result.columnCount) is read")
      return nil
    }
    let count = functions.getlength(result.handle, index, column)
    return UnsafeRawBufferPointer(start: functions.getvalue(result.handle, index, column), count: Int(count))
  }

  // MARK: - Binary forms

  private static func integer(in bytes: UnsafeRawBufferPointer) -> Int64 {
    switch bytes.count {
    case 8: bytes.loadUnaligned(as: Int64.self).bigEndian
    case 4: Int64(bytes.loadUnaligned(as: Int32.self).bigEndian)
    case 2: Int64(bytes.loadUnaligned(as: Int16.self).bigEndian)
    case 1: Int64(bytes[0])
    case let count: preconditionFailure("A column of \(count) bytes is read as a whole number")
    }
  }

  /// In the form in which `PostgresParameters` writes them.
  private func elements<R>(_ column: Int32, _ body: (UnsafeRawBufferPointer?) -> R) -> [R]? {
    guard let bytes = bytes(column) else { return nil }
    func number(at place: Int) -> Int { Int(bytes.loadUnaligned(fromByteOffset: place, as: Int32.self).bigEndian) }
    let dimensions = number(at: 0)
    guard dimensions > 0 else { return [] }
    precondition(dimensions == 1, "An array with \(dimensions) dimensions is read as a list")
    var (values, place) = ([R](), 20)
    values.reserveCapacity(number(at: 12))
    for _ in 0..<number(at: 12) {
      let count = number(at: place)
      place += 4
      values.append(body(count < 0 ? nil : UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])))
      place += max(count, 0)
    }
    return values
  }
}
#endif
