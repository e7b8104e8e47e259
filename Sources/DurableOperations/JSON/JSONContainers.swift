/// The object into which a value encodes itself.
struct JSONKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let writer: JSONWriter
  let place: JSONDocument.Place

  var codingPath: [any CodingKey] { writer.document.path(to: place) }

  mutating func encodeNil(forKey key: Key) throws {
    try writer.document.beginMember(key.stringValue, of: place)
    writer.document.appendNull()
  }

  // Inlined, since the numeric and text requirements of the protocol call this with their concrete
  // type.
  @inline(__always)
  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try writer.document.beginMember(key.stringValue, of: place)
    try writer.write(value, key)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    encoder(of: key).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder(of: key).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { encoder(of: JSONKey.super) }

  mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(of: key) }

  private func encoder(of key: some CodingKey) -> JSONValueEncoder {
    do {
      try writer.document.beginMember(key.stringValue, of: place)
    } catch {
      return JSONValueEncoder(writer: writer, place: .none)
    }
    return JSONValueEncoder(writer: writer, place: writer.document.open(key))
  }
}

/// The array into which a value encodes itself.
struct JSONUnkeyedContainer: UnkeyedEncodingContainer {
  let writer: JSONWriter
  let place: JSONDocument.Place

  var codingPath: [any CodingKey] { writer.document.path(to: place) }
  var count: Int { writer.document.count(of: place) }

  mutating func encodeNil() throws {
    try writer.document.beginElement(of: place)
    writer.document.appendNull()
  }

  // Inlined, since the numeric and text requirements of the protocol call this with their concrete
  // type.
  @inline(__always)
  mutating func encode<T: Encodable>(_ value: T) throws {
    try writer.document.beginElement(of: place)
    try writer.write(value, JSONKey.index(count - 1))
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    nextEncoder().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nextEncoder().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder {
    // `JSONEncoder` counts this element only after it has released the encoder.
    writer.document.fail(.unusual)
    return JSONValueEncoder(writer: writer, place: .none)
  }

  private func nextEncoder() -> JSONValueEncoder {
    do {
      try writer.document.beginElement(of: place)
    } catch {
      return JSONValueEncoder(writer: writer, place: .none)
    }
    return JSONValueEncoder(writer: writer, place: writer.document.open(JSONKey.index(count - 1)))
  }
}

/// The key of an element, or of a superclass.
enum JSONKey: CodingKey {
  case index(Int)
  case `super`

  init?(stringValue: String) {
    guard stringValue == "super" else { return nil }
    self = .super
  }

  init?(intValue: Int) { self = .index(intValue) }

  var stringValue: String {
    switch self {
    case .index(let index): "Index \(index)"
    case .super: "super"
    }
  }

  var intValue: Int? {
    switch self {
    case .index(let index): index
    case .super: nil
    }
  }
}
