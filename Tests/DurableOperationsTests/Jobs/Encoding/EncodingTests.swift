import Foundation
import Testing

@testable import DurableOperations

/// Jobs are stored as `JSONEncoder` would store them: what older versions have stored, and unique
/// jobs, must not differ.
@Suite struct EncodingTests {
  static let reference: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()

  /// What the writer makes of a value; nil if it leaves it to `JSONEncoder`.
  static func written(_ value: some Encodable) -> String? {
    let writer = JSONWriter()
    try? writer.write(value, nil)
    return writer.document.isComplete ? writer.document.text.string : nil
  }

  @Test(arguments: EncodingShapes.plain)
  func plain_isWrittenAsJSONEncoderDoes(_ shape: EncodingShapes.Shape) throws {
    let expected = try String(decoding: Self.reference.encode(shape), as: UTF8.self)
    #expect(Self.written(shape) == expected)
    #expect(try String(decoding: PayloadCoding.encode(shape), as: UTF8.self) == expected)
  }

  @Test(arguments: EncodingShapes.unusual)
  func unusual_isLeftToJSONEncoder(_ shape: EncodingShapes.Shape) throws {
    #expect(Self.written(shape) == nil)
    #expect(try PayloadCoding.encode(shape) == Self.reference.encode(shape))
  }

  @Test(arguments: EncodingShapes.failing)
  func failing_throwsTheErrorOfJSONEncoder(_ shape: EncodingShapes.Shape) throws {
    let before = try PayloadCoding.encode(Count(number: 1))
    let error = #expect(throws: (any Error).self) { try PayloadCoding.encode(shape) }
    let expected = #expect(throws: (any Error).self) { try Self.reference.encode(shape) }
    #expect(Self.description(of: error) == Self.description(of: expected))
    #expect(try PayloadCoding.encode(Count(number: 1)) == before)
  }

  static func description(of error: (any Error)?) -> String {
    guard let error, case EncodingError.invalidValue(let value, let context)? = error as? EncodingError else {
      return "\(error as Any)"
    }
    let path = context.codingPath.map { "\($0.stringValue)|\($0.intValue as Any)" }
    return "\(type(of: value)) at \(path): \(context.debugDescription)"
  }

  @Test func stored_isWhatItAlwaysWas() throws {
    struct Mail: Codable {
      var to = "ada@example.com"
      var text = "“é” \"/\\\n\u{1}\u{7F}\u{2028}"
      var sent = Date(timeIntervalSinceReferenceDate: 700_000_000.25)
      var link = URL(string: "https://example.com/a?b=c#d")
      var copies: [String: Int] = ["b": 2, "a": 1, "B": 3]
      var data = Data([0, 255])
      var size = 1.0
      var none: Int?
    }
    let expected = #"""
      {"copies":{"B":3,"a":1,"b":2},"data":"AP8=","link":"https://example.com/a?b=c#d","sent":700000000.25,"size":1,"text":"\#
      “é” \"/\\\n\u0001\#u{7F}\#u{2028}","to":"ada@example.com"}
      """#
    #expect(Self.written(Mail()) == expected)
    #expect(try String(decoding: PayloadCoding.encode(Mail()), as: UTF8.self) == expected)
  }

  // MARK: - Depth

  private final class Node: Codable {
    var next: Node?

    init(depth: Int) {
      for _ in 1..<depth {
        let node = Node()
        node.next = next
        next = node
      }
    }

    private init() {}

    deinit {
      // Not one inside of the other.
      var rest = next.take()
      while let node = rest { rest = node.next.take() }
    }
  }

  @Test(arguments: [1, 100, 510, 511])
  func nested_asDeepAsJSONEncoderAllows_isWritten(_ depth: Int) throws {
    let node = Node(depth: depth)
    #expect(Self.written(node) == (try String(decoding: Self.reference.encode(node), as: UTF8.self)))
  }

  @Test(arguments: [512, 513, 700])
  func nested_tooDeep_throwsTheErrorOfJSONEncoder(_ depth: Int) throws {
    let node = Node(depth: depth)
    let error = #expect(throws: EncodingError.self) { try PayloadCoding.encode(node) }
    let expected = #expect(throws: EncodingError.self) { try Self.reference.encode(node) }
    #expect(Self.description(of: error) == Self.description(of: expected))
  }

  @Test func nested_100000Deep_throwsAndTheProcessGoesOn() {
    #expect(throws: EncodingError.self) { try PayloadCoding.encode(Node(depth: 100_000)) }
  }

  /// Some versions of `JSONEncoder` count such an array, some do not.
  @Test(arguments: [510, 511, 512, 513]) func arrayOfNumbersAtTheLastDepth_isAllowedWhereJSONEncoderAllowsIt(
    _ depth: Int
  ) {
    struct Nested: Encodable {
      var depth: Int

      func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        if depth > 1 { try container.encode(Nested(depth: depth - 1)) } else { try container.encode([1.5, 2]) }
      }
    }
    let value = Nested(depth: depth)
    #expect((try? PayloadCoding.encode(value)) == (try? Self.reference.encode(value)))
  }

  // MARK: - Encoders that are kept

  /// What happens to encoders after the value has been encoded, or inside of another one.
  private struct Leak: Encodable {
    final class Box {
      var encoder: (any Encoder)?
      var container: KeyedEncodingContainer<JSONKey>?
    }

    let box: Box

    func encode(to encoder: any Encoder) throws {
      box.encoder = encoder
      box.container = encoder.container(keyedBy: JSONKey.self)
      try box.container?.encode(1, forKey: .super)
    }
  }

  @Test func encoderKeptByAJob_writesNothingIntoTheNext() throws {
    struct Writing: Encodable {
      let box: Leak.Box

      func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try? box.container?.encode(2, forKey: .super)
        var single = box.encoder?.singleValueContainer()
        try? single?.encode(3)
        try container.encode(4)
      }
    }
    let box = Leak.Box()
    #expect(try String(decoding: PayloadCoding.encode(Leak(box: box)), as: UTF8.self) == #"{"super":1}"#)
    #expect(try String(decoding: PayloadCoding.encode(Writing(box: box)), as: UTF8.self) == "[4]")
    try? box.container?.encode(5, forKey: .super)
    #expect(try String(decoding: PayloadCoding.encode([6]), as: UTF8.self) == "[6]")
    withExtendedLifetime(box) {}
  }

  @Test func jobEncodedWhileAnotherIs_bothAreRight() throws {
    struct Outer: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(1)
        try container.encode(String(decoding: PayloadCoding.encode(["a": [2]]), as: UTF8.self))
        try container.encode(3)
      }
    }
    #expect(try String(decoding: PayloadCoding.encode(Outer()), as: UTF8.self) == #"[1,"{\"a\":[2]}",3]"#)
  }

  @Test func manyThreads_eachGetsItsOwn() async throws {
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        group.addTask {
          let value = (0..<50).map { ["b": "\(number)", "a": String(repeating: "x", count: $0)] }
          return (try? PayloadCoding.encode(value)) == (try? Self.reference.encode(value))
        }
      }
      for await isEqual in group { #expect(isEqual) }
    }
  }

  // MARK: - Paths

  @Test func codingPaths_nameTheWay() throws {
    final class Paths { var seen: [String] = [] }
    struct Inner: Encodable {
      let paths: Paths
      func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(1)
        var nested = container.nestedContainer(keyedBy: JSONKey.self)
        for path in [encoder.codingPath, container.codingPath, nested.codingPath] {
          paths.seen.append(path.map(\.stringValue).joined(separator: "."))
        }
        let inherited = nested.superEncoder()
        paths.seen.append(inherited.codingPath.map(\.stringValue).joined(separator: "."))
        var single = inherited.singleValueContainer()
        try single.encodeNil()
      }
    }
    struct Outer: Encodable {
      var b = 1
      let a: Inner
    }
    let paths = Paths()
    #expect(Self.written(Outer(a: Inner(paths: paths))) == #"{"a":[1,{"super":null}],"b":1}"#)
    #expect(paths.seen == ["a", "a", "a.Index 1", "a.Index 1.super"])
  }
}
