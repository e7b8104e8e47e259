/// Writes values as `JSONEncoder` does with `.sortedKeys` and `.withoutEscapingSlashes`, straight
/// into one buffer.
///
/// Used on one thread at a time. A container that a value keeps writes nothing after the value has
/// been encoded.
final class JSONWriter {
  // Values never write while the document is being changed.
  @exclusivity(unchecked) var document = JSONDocument()

  /// Writes the value of the member or element that was begun last, or the value of the whole
  /// document.
  ///
  /// - Parameter step: its key; nil for the whole document, and for the whole of the enclosing
  ///   value.
  @inline(__always)
  func write<T: Encodable>(_ value: T, _ step: @autoclosure () -> (any CodingKey)?) throws {
    if try document.append(plain: value) { return }
    let place = document.open(step())
    do {
      try value.encode(to: JSONValueEncoder(writer: self, place: place))
    } catch {
      // Its text stays, so the document is spoilt even if the enclosing value handles the error.
      document.fail(.unusual)
      throw error
    }
    try document.close(place)
  }
}

/// The encoder into which a value encodes itself.
struct JSONValueEncoder: Encoder {
  let writer: JSONWriter
  let place: JSONDocument.Place

  var codingPath: [any CodingKey] { writer.document.path(to: place) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  // These cannot throw. The document has then failed, and the next write throws.

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    try? writer.document.begin(.object, at: place)
    return KeyedEncodingContainer(JSONKeyedContainer<Key>(writer: writer, place: place))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    try? writer.document.begin(.array, at: place)
    return JSONUnkeyedContainer(writer: writer, place: place)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension JSONValueEncoder: SingleValueEncodingContainer {
  mutating func encodeNil() throws {
    try writer.document.begin(.single, at: place)
    writer.document.appendNull()
  }

  // Inlined, since the numeric and text requirements of the protocol call this with their concrete
  // type.
  @inline(__always)
  mutating func encode<T: Encodable>(_ value: T) throws {
    try writer.document.begin(.single, at: place)
    try writer.write(value, nil)
  }
}
