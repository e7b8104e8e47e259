import Foundation

/// The name of a kind by its bytes, as SQLite compares names. Texts are equal for Swift that differ only in how they spell an
/// accent.
struct KindName: Hashable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  static func == (left: KindName, right: KindName) -> Bool {
    // Byte by byte takes long, and each job of a batch is asked.
    let areEqual = left.text.utf8.withContiguousStorageIfAvailable { left in
      right.text.utf8.withContiguousStorageIfAvailable { right in
        guard left.count == right.count, let first = left.baseAddress, let second = right.baseAddress else {
          return left.isEmpty && right.isEmpty
        }
        return memcmp(first, second, left.count) == 0
      }
    }
    return (areEqual ?? nil) ?? left.text.utf8.elementsEqual(right.text.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}
