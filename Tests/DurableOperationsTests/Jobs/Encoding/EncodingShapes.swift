import Foundation
import Testing

/// Values of the many shapes in which types encode themselves.
enum EncodingShapes {
  struct Shape: Encodable, Sendable, CustomTestStringConvertible {
    let value: any Encodable & Sendable

    init(_ value: any Encodable & Sendable) { self.value = value }

    var testDescription: String { "\(type(of: value))" }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  static let plain: [Shape] = scalars + foundation + own + collections + nested
}

// MARK: - Plain ones

extension EncodingShapes {
  private static let date = Date(timeIntervalSinceReferenceDate: 700_000_000.125)

  /// A value as a member, an element, and alone.
  private struct Places<Value: Encodable & Sendable>: Encodable, Sendable {
    var member: Value
    var element: [Value]
    var optional: Value?
    var none: Value?
    var twice: Value??
    var byName: [String: Value]

    init(_ value: Value) {
      (member, element, optional, twice) = (value, [value, value], value, value)
      byName = ["z": value, "a": value]
    }
  }

  private static func places(_ value: some Encodable & Sendable) -> Shape { Shape(Places(value)) }

  private static let scalars: [Shape] = [
    places(true), places(0), places(Int.min), places(Int8.min), places(Int16.max), places(Int32.min), places(Int64.max),
    places(Int128.min), places(UInt.max), places(UInt8.max), places(UInt16.max), places(UInt32.max), places(UInt64.max),
    places(UInt128.max), places(0.0), places(-0.0), places(0.1), places(1e16), places(1e15),
    places(Double.leastNonzeroMagnitude),
    places(Double.greatestFiniteMagnitude), places(Float(0.1)), places(Float.greatestFiniteMagnitude),
    places(Float16(1.5)),
    places(""), places("plain"), places("é 👩‍👩‍👧 \u{2028}\u{2029}\u{7F}\u{85}\u{FEFF}"), places("a/b"),
    places(String((0..<0x80).compactMap { Unicode.Scalar($0).map(Character.init) })),
    places(String(repeating: "long ", count: 1000)), places("“" + String(repeating: "x", count: 100) + "\n"),
    places(Int?.none), places("text" as String?), places(Character("é").description),
    Shape(true), Shape(1), Shape("text"), Shape(1.5), Shape(Int?.none), Shape([Int]()), Shape([String: Int]()),
  ]

  private static let foundation: [Shape] = [
    places(date), places(Date.distantPast), places(Data()), places(Data([1, 2, 3, 254])),
    places(URL(string: "https://example.com/a/b?c=%20d#e")!), places(URL(filePath: "/tmp/a b")),
    places(URL(string: "c", relativeTo: URL(string: "https://example.com/a/"))!), places(Decimal(string: "-12.3400")!),
    places(Decimal.greatestFiniteMagnitude), places(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!),
    places(Measurement(value: 1.5, unit: UnitLength.kilometers)), places(DateInterval(start: date, duration: 60)),
    places(DateComponents(year: 2026, month: 2, day: 30)), places(Locale(identifier: "de_CH")),
    places(TimeZone(identifier: "Europe/Zurich")!), places(Calendar(identifier: .gregorian)),
    places(IndexPath(indexes: [1, 2, 3])), places(IndexSet([1, 2, 3, 9])), places(CharacterSet(charactersIn: "abc")),
    places(CGPoint(x: 1, y: 2.5)), places(CGRect(x: 1, y: 2, width: 3, height: 4)), places(CGFloat(2.5)),
    places(PersonNameComponents(givenName: "Ada", familyName: "Lovelace")), places(Duration.milliseconds(1500)),
    places(Optional(date)), places([date]), places([URL(string: "a:b")]), places([Data([1])]),
    Shape(date), Shape(Data([1])), Shape(URL(string: "a:b")!), Shape(Decimal(2)),
  ]

  private enum Direction: String, Codable { case north = "N", south }
  private enum Level: Int, Codable { case low = 1, high }
  private enum Shape2D: Codable {
    case point
    case circle(radius: Double)
    case rectangle(width: Double, height: Double, name: String?)
    case both(Int, String)
    indirect case group([Shape2D])
  }

  private struct Person: Codable {
    enum CodingKeys: String, CodingKey { case name = "full name", age, home, tags }
    struct Home: Codable { var zip = "8000", city = "Zürich", coordinates: [Double]? = [47.4, 8.5] }
    var name = "Ada", age: Int? = 36, home = Home(), tags: Set<String> = ["only"]
  }

  @propertyWrapper private struct Trimmed: Codable {
    var wrappedValue: String
    init(wrappedValue: String) { self.wrappedValue = wrappedValue }
  }

  private struct Wrapped: Codable {
    @Trimmed var name = "name"
    var other = 1
  }

  private class Animal: Encodable {
    enum CodingKeys: CodingKey { case legs, name }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode("animal", forKey: .name)
      try container.encode(4, forKey: .legs)
    }
  }

  /// Shares the object.
  private final class Cat: Animal, @unchecked Sendable {  // immutable
    enum CodingKeys: CodingKey { case lives }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(9, forKey: .lives)
    }
  }

  /// Has the inherited object as a member.
  private final class Dog: Animal, @unchecked Sendable {  // immutable
    enum CodingKeys: CodingKey { case good, zone, base }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(true, forKey: .zone)
      try super.encode(to: container.superEncoder())
      try container.encode(true, forKey: .good)
      try super.encode(to: container.superEncoder(forKey: .base))
    }
  }

  private struct Empty: Codable {}
  /// Encodes nothing at all.
  private struct Silent: Encodable { func encode(to encoder: any Encoder) throws {} }
  private struct Generic<A: Codable & Sendable, B: Codable & Sendable>: Codable, Sendable { var b: B, a: A }
  private struct Number: RawRepresentable, Codable, Hashable { var rawValue: Int }
  private struct Name: RawRepresentable, Codable, Hashable, CodingKeyRepresentable {
    var rawValue: String
    var codingKey: any CodingKey { RandomTree.Key(stringValue: rawValue) }
    init(rawValue: String) { self.rawValue = rawValue }
    init?(codingKey: some CodingKey) { rawValue = codingKey.stringValue }
  }

  private final class List: Codable, @unchecked Sendable {  // immutable
    var value = 1
    let next: List?
    init(_ next: List?) { self.next = next }
  }

  private static let own: [Shape] = [
    places(Direction.north), places(Level.high), places(Shape2D.point), places(Shape2D.circle(radius: 1.5)),
    places(Shape2D.rectangle(width: 1, height: 2, name: nil)), places(Shape2D.both(1, "two")),
    places(Shape2D.group([.point, .group([.circle(radius: 2)])])), places(Person()), places(Wrapped()), places(Cat()),
    places(Dog()), places(Empty()), places(Generic(b: [1], a: "a")),
    places(Generic(b: Person?.none, a: Direction.south)),
    places(Number(rawValue: 7)), places(Name(rawValue: "n")), places(List(List(List(nil)))),
    Shape(Places(Silent())),
  ]

  private static let collections: [Shape] = [
    places([1, 2, 3]), places([UInt8]()), places(["a", "\"b\""]), places([1.5, 2, -0.0]), places([Float(0.1)]),
    places([[1], [], [2, 3]]), places([true, nil, false]), places([String?.none]), places(Set(["one"])),
    places(["b": 1, "a": 2, "B": 3, "": 4, "é": 5, "z": 6]), places([2: "b", 10: "c", 1: "a"]),
    places([Number(rawValue: 1): "pairs"]), places([Name(rawValue: "key"): 1, Name(rawValue: "a"): 2]),
    places([1.5: "pairs"]), places(["a": ["c": ["d": [1]], "b": [:]]]), places(["a": Int?.none]),
    places(["x": Optional("y"), "w": nil]), places(ContiguousArray([1, 2])), places(1..<5),
    places(1...5), places(...5), places(CollectionOfOne(1).map { $0 }), places([Empty(), Empty()]),
    places(Dictionary(uniqueKeysWithValues: (0..<300).map { ("key \($0 * 7919 % 300)", $0) })),
  ]
}

// MARK: - Containers inside of containers

extension EncodingShapes {
  /// A value that encodes itself as a closure says.
  struct Written: Encodable, Sendable {
    let body: @Sendable (any Encoder) throws -> Void
    func encode(to encoder: any Encoder) throws { try body(encoder) }
  }

  private enum Key: String, CodingKey { case a, b, c, d }

  private static func written(_ body: @escaping @Sendable (any Encoder) throws -> Void) -> Shape {
    Shape(Written(body: body))
  }

  private static let nested: [Shape] = [
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      var inner = object.nestedContainer(keyedBy: Key.self, forKey: .c)
      try inner.encode(2, forKey: .b)
      try inner.encode(1, forKey: .a)
      var list = inner.nestedUnkeyedContainer(forKey: .d)
      try list.encodeNil()
      var last = list.nestedContainer(keyedBy: Key.self)
      try last.encodeNil(forKey: .a)
      _ = list.nestedUnkeyedContainer()
      try list.encode(list.count)
      try object.encode("x", forKey: .a)
      _ = object.nestedUnkeyedContainer(forKey: .b)
      _ = object.superEncoder(forKey: .d)
    },
    written { encoder in _ = encoder.container(keyedBy: Key.self) },
    written { encoder in _ = encoder.unkeyedContainer() },
    written { encoder in
      var single = encoder.singleValueContainer()
      try single.encode(Written { try [1: "a"].encode(to: $0) })
    },
    written { encoder in
      for number in 0..<3 {
        var list = encoder.unkeyedContainer()
        try list.encode(number)
      }
    },
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      try object.encodeIfPresent(Int?.none, forKey: .a)
      try object.encodeIfPresent(1, forKey: .b)
      try object.encodeConditional(List(nil), forKey: .a)
    },
    written { encoder in
      var list = encoder.unkeyedContainer()
      try list.encode(contentsOf: [1, 2])
      try list.encode(contentsOf: ["a"])
    },
    // An error of its own that it deals with.
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      do { throw CancellationError() } catch { try object.encode("caught", forKey: .a) }
    },
  ]

  // MARK: - Those that are left to JSONEncoder

  static let unusual: [Shape] = [
    // Filled after its sibling was written.
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      var first = object.nestedContainer(keyedBy: Key.self, forKey: .b)
      try object.encode(1, forKey: .a)
      try first.encode(2, forKey: .c)
    },
    written { encoder in
      var list = encoder.unkeyedContainer()
      var first = list.nestedUnkeyedContainer(), second = list.nestedUnkeyedContainer()
      for number in 0..<3 {
        try first.encode(number)
        try second.encode(-number)
      }
    },
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      let later = object.superEncoder()
      try object.encode(1, forKey: .a)
      try "x".encode(to: later)
    },
    // The same key again.
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      for number in 0..<3 {
        try object.encode(number, forKey: .b)
        try object.encode(number, forKey: .a)
      }
    },
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(1, forKey: .a)
      try object.encode([2], forKey: .a)
    },
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      var first = object.nestedContainer(keyedBy: Key.self, forKey: .b)
      try first.encode(2, forKey: .c)
      var second = object.nestedContainer(keyedBy: Key.self, forKey: .b)
      try second.encode(3, forKey: .a)
    },
    // The same key in other characters.
    written { encoder in
      var object = encoder.container(keyedBy: RandomTree.Key.self)
      try object.encode(1, forKey: RandomTree.Key(stringValue: "é"))
      try object.encode(2, forKey: RandomTree.Key(stringValue: "e\u{301}"))
    },
    Shape(["\"": 1, "#": 2, "\n": 3]),
    // An object that goes on after it was the value of another.
    written { encoder in
      var single = encoder.singleValueContainer()
      try single.encode(["a": 1])
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(2, forKey: .b)
    },
    written { encoder in
      var list = encoder.unkeyedContainer()
      try list.encode(1)
      try "inherited".encode(to: list.superEncoder())
      try list.encode(2)
    },
    // An error that it deals with.
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      try? object.encode(Double.nan, forKey: .a)
      try? object.encode(Written { try [1, .infinity].encode(to: $0) }, forKey: .b)
      try object.encode(1, forKey: .c)
    },
  ]

  // MARK: - Those that fail

  private struct Failure: Error { var number = 1 }
  private struct Numbers: Encodable { var a = 1, b = [1.5, .nan], c = 2 }
  private struct Single: Encodable { var a = Double.nan }

  static let failing: [Shape] = [
    Shape(Double.nan), Shape(Float.infinity), Shape(-Double.infinity), Shape([1, Double.nan]), Shape(Single()),
    Shape(Numbers()), Shape(["a": [Single()]]), Shape([[Float.nan]]), Shape(Shape2D.circle(radius: .nan)),
    Shape(Date(timeIntervalSinceReferenceDate: .infinity)), Shape([Date(timeIntervalSinceReferenceDate: .nan)]),
    Shape(Float16.nan), Shape(Optional(Double.nan)), Shape(Silent()),
    written { _ in throw Failure() },
    written { encoder in
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(1, forKey: .a)
      try object.encode(Written { _ in throw Failure(number: 2) }, forKey: .b)
    },
    written { encoder in
      var list = encoder.unkeyedContainer()
      var object = list.nestedContainer(keyedBy: Key.self)
      try object.encode(
        Written { encoder in
          throw EncodingError.invalidValue(
            1, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "no"))
        }, forKey: .b)
    },
    written { encoder in
      var list = encoder.unkeyedContainer()
      do { try list.encode(Double.nan) } catch { throw Failure(number: 3) }
    },
  ]
}
