import CompositeOperations
import Foundation

extension Report {
  /// The report as JSON, always with the same order of keys.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { preconditionFailure("A report of texts and numbers encodes.") }
    return HarmlessText.json(String(decoding: data, as: UTF8.self)) + "\n"
  }
}
