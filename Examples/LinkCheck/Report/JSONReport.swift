import CompositeOperations
import Foundation

extension Report {
  /// The report as JSON, always with the same order of keys.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { preconditionFailure("A report of texts and numbers encodes.") }
    return Self.harmless(String(decoding: data, as: UTF8.self)) + "\n"
  }

  /// Escapes what a terminal would obey: of that, the encoder escapes only what comes before the space.
  ///
  /// Such characters stand in texts alone, where an escape means the same. The newlines are the encoder's own, between its lines.
  private static func harmless(_ json: String) -> String {
    var harmless = String.UnicodeScalarView()
    for scalar in json.unicodeScalars {
      guard scalar != "\n", HarmlessText.isEscapedInJSON(scalar) else {
        harmless.append(scalar)
        continue
      }
      let digits = String(scalar.value, radix: 16)
      let zeros = String(repeating: "0", count: 4 - digits.count)
      harmless.append(contentsOf: "\\u\(zeros)\(digits)".unicodeScalars)
    }
    return String(harmless)
  }
}
