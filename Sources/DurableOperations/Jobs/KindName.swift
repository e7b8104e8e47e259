import Foundation

/// The name of a kind, compared by its bytes, as SQLite compares names. Swift takes texts for equal
/// that only spell an accent differently.
struct KindName: Hashable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  static func == (left: KindName, right: KindName) -> Bool {
    // A comparison byte by byte is slow, and runs for each job of a batch.
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
