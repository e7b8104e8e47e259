import Foundation
import TestSupport

/// A tree of values as JSON has them, which encodes itself in one of several ways.
indirect enum RandomTree: Encodable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case double(Double)
  case float(Float)
  case text(String)
  case data(Data)
  case decimal(Decimal)
  case array([RandomTree])
  case numbers([Double])
  case texts([String])
  case object([(key: String, value: RandomTree)])
  case dictionary([String: RandomTree])
  /// Elements that are written into nested containers.
  case nested([RandomTree])
  /// Members that are written into nested containers.
  case nestedObject([(key: String, value: RandomTree)])

  struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let value): try value.encode(to: encoder)
    case .integer(let value): try value.encode(to: encoder)
    case .unsigned(let value): try value.encode(to: encoder)
    case .double(let value): try value.encode(to: encoder)
    case .float(let value): try value.encode(to: encoder)
    case .text(let value): try value.encode(to: encoder)
    case .data(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    case .decimal(let value):
      var container = encoder.singleValueContainer()
      try container.encode(value)
    case .array(let values): try values.encode(to: encoder)
    case .numbers(let values):
      var container = encoder.singleValueContainer()
      try container.encode(values)
    case .texts(let values): try values.encode(to: encoder)
    case .object(let members):
      var container = encoder.container(keyedBy: Key.self)
      for member in members {
        if case .null = member.value {
          try container.encodeNil(forKey: Key(stringValue: member.key))
        } else {
          try container.encode(member.value, forKey: Key(stringValue: member.key))
        }
      }
    case .dictionary(let members): try members.encode(to: encoder)
    case .nested(let values):
      var container = encoder.unkeyedContainer()
      for value in values {
        var nested = container.nestedUnkeyedContainer()
        try nested.encode(value)
      }
      _ = container.nestedContainer(keyedBy: Key.self)
    case .nestedObject(let members):
      var container = encoder.container(keyedBy: Key.self)
      for (number, member) in members.enumerated() {
        let key = Key(stringValue: member.key)
        if number.isMultiple(of: 2) {
          var nested = container.nestedContainer(keyedBy: Key.self, forKey: key)
          try nested.encode(member.value, forKey: Key(stringValue: "z"))
          try nested.encode(number, forKey: Key(stringValue: "a"))
        } else {
          try member.value.encode(to: container.superEncoder(forKey: key))
        }
      }
    }
  }

  static func random(depth: Int, using random: inout some RandomNumberGenerator) -> RandomTree {
    switch Int.random(in: 0..<(depth == 0 ? 11 : 18), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .integer(Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random))
    case 3: return .unsigned(UInt64.random(in: 0 ... .max, using: &random))
    case 4: return .double(finite(Double(bitPattern: .random(in: 0 ... .max, using: &random))))
    case 5: return .float(finite(Float(bitPattern: .random(in: 0 ... .max, using: &random))))
    case 6: return .double(Double(Int.random(in: -1000...1000, using: &random)) / 4)
    case 7:
      return .data(Data((0..<Int.random(in: 0..<9, using: &random)).map { _ in .random(in: 0...255, using: &random) }))
    case 8: return .decimal(Decimal(Int.random(in: -9999...9999, using: &random)) / 1000)
    case 9, 10: return .text(text(using: &random))
    case 11: return .numbers((0..<Int.random(in: 0..<4, using: &random)).map { Double($0) * 1.25 })
    case 12: return .texts((0..<Int.random(in: 0..<4, using: &random)).map { _ in text(using: &random) })
    case 13: return .array(trees(depth: depth, using: &random))
    case 14: return .nested(trees(depth: depth, using: &random))
    case 15:
      return .dictionary(Dictionary(members(depth: depth, using: &random), uniquingKeysWith: { first, _ in first }))
    case 16: return .nestedObject(unique(members(depth: depth, using: &random)))
    default: return .object(members(depth: depth, using: &random))
    }
  }

  private static func finite<F: BinaryFloatingPoint>(_ number: F) -> F { number.isFinite ? number : 0 }

  private static func trees(depth: Int, using random: inout some RandomNumberGenerator) -> [RandomTree] {
    (0..<Int.random(in: 0..<5, using: &random)).map { _ in self.random(depth: depth - 1, using: &random) }
  }

  private static func members(
    depth: Int, using random: inout some RandomNumberGenerator
  ) -> [(key: String, value: RandomTree)] {
    (0..<Int.random(in: 0..<6, using: &random)).map { _ in
      (text(using: &random), self.random(depth: depth - 1, using: &random))
    }
  }

  /// `JSONEncoder` traps when two containers of different kinds have the same key.
  private static func unique(_ members: [(key: String, value: RandomTree)]) -> [(key: String, value: RandomTree)] {
    var seen: Set<String> = []
    return members.filter { seen.insert($0.key).inserted }
  }

  private static let pieces = [
    "a", "b", "key", "Z", "0", "é", "e\u{301}", "ü", "\u{1F469}\u{200D}\u{1F467}", "\u{2028}", "\u{7F}", "\u{85}", "/",
    " ",
  ]
  private static let escaped = ["\"", "\\", "\n", "\r", "\t", "\u{0}", "\u{8}", "\u{C}", "\u{1F}", "\u{B}"]

  private static func text(using random: inout some RandomNumberGenerator) -> String {
    (0..<Int.random(in: 0..<6, using: &random)).map { _ in
      Int.random(in: 0..<30, using: &random) == 0
        ? escaped.randomElement(using: &random)! : pieces.randomElement(using: &random)!
    }.joined()
  }
}
