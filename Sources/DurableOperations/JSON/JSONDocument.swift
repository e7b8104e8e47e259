/// A JSON document while values encode themselves into it: its text, and the objects and arrays
/// that are still open.
///
/// The text grows only at its end, which suits nearly all types. The document fails for a type that
/// returns to a container after it wrote to the enclosing one, and for a type that uses a key
/// twice: these need all values in memory.
struct JSONDocument: ~Copyable {
  enum Failure: Error {
    /// This document cannot write the value. `JSONEncoder` can, or throws the right error.
    case unusual
    /// `JSONEncoder` refuses values of this depth, and with some overflows the stack earlier.
    case tooDeep
  }

  /// A value that has begun. Its number distinguishes it from later values at the same level.
  struct Place {
    let level: Int
    let number: Int
    /// The place of no value: nothing can be written there.
    static let none = Place(level: 0, number: 0)
  }

  enum Kind { case nothing, single, array, object }

  private struct Value {
    let number: Int
    /// Its key in the enclosing value; nil if it is the whole of that value.
    let step: (any CodingKey)?
    var kind = Kind.nothing
    /// How many elements it has.
    var count = 0
    /// Where its content starts in the text.
    var start = 0
    /// The index of its first member among all members.
    var firstMember = 0
    var isSorted = true
    var hasWideKeys = false
  }

  /// A member of an object, by its place in the text.
  private struct Member {
    let start: Int
    let endOfKey: Int
    var key: Range<Int> { start + 1..<endOfKey - 1 }
  }

  /// `JSONEncoder` refuses containers at this depth, except arrays of numbers or texts.
  private static let doubtfulDepth = 512

  private(set) var text = JSONText()
  /// The buffer in which members are sorted.
  private var scratch = JSONText()
  private(set) var failure: Failure?
  /// From the outermost to the innermost.
  private var values: [Value] = []
  /// The members of all objects that are still open.
  private var members: [Member] = []
  private var lastNumber = 0
  private var depth = 0
  private var isDoubtful = false

  mutating func removeAll() {
    text.cut(to: 0)
    failure = nil
    if !values.isEmpty { values.removeAll(keepingCapacity: true) }
    if !members.isEmpty { members.removeAll(keepingCapacity: true) }
    depth = 0
    isDoubtful = false
  }

  /// How many bytes the buffers hold.
  var capacity: Int { text.capacity + scratch.capacity }

  mutating func fail(_ failure: Failure) {
    if self.failure != .tooDeep { self.failure = failure }
  }

  /// Closes the values inside a value. Fails if the value itself is closed.
  private mutating func goTo(_ place: Place) throws(Failure) {
    if failure == nil, !isOpen(place) { fail(.unusual) }
    if let failure { throw failure }
    while values.count > place.level + 1 { closeLast() }
  }

  private func isOpen(_ place: Place) -> Bool {
    place.level < values.count && values[place.level].number == place.number
  }

  // MARK: - Values

  /// Begins a value, of any kind, inside the innermost open value.
  mutating func open(_ step: (any CodingKey)?) -> Place {
    lastNumber += 1
    values.append(Value(number: lastNumber, step: step))
    return Place(level: values.count - 1, number: lastNumber)
  }

  /// Ends a value.
  mutating func close(_ place: Place) throws(Failure) {
    try goTo(place)
    // `JSONEncoder` throws.
    if place.level == 0, values[0].kind == .nothing { fail(.unusual) }
    closeLast()
  }

  private mutating func closeLast() {
    let value = values.removeLast()
    switch value.kind {
    case .nothing: text.append(json: "{}")
    case .single: return
    case .array:
      text.append(byte: UInt8(ascii: "]"))
      depth -= 1
    case .object:
      finishMembers(of: value)
      text.append(byte: UInt8(ascii: "}"))
      depth -= 1
    }
  }

  /// Begins the content of a value. A second call is allowed: a class shares the container of its
  /// superclass.
  mutating func begin(_ kind: Kind, at place: Place) throws(Failure) {
    try goTo(place)
    guard values[place.level].kind != kind || kind == .single else { return }
    guard values[place.level].kind == .nothing else {
      fail(.unusual)
      throw .unusual
    }
    values[place.level].kind = kind
    guard kind != .single else { return }
    text.append(byte: UInt8(ascii: kind == .object ? "{" : "["))
    values[place.level].start = text.count
    values[place.level].firstMember = members.count
    depth += 1
    if depth == Self.doubtfulDepth { isDoubtful = true }
    if depth > Self.doubtfulDepth {
      fail(.tooDeep)
      throw .tooDeep
    }
  }

  /// Begins the value of an object's member: closes the previous member and writes the key.
  mutating func beginMember(_ key: String, of place: Place) throws(Failure) {
    try goTo(place)
    if values[place.level].count > 0 { text.append(byte: UInt8(ascii: ",")) }
    values[place.level].count += 1
    let start = text.count
    let contents = text.append(quoted: key)
    let member = Member(start: start, endOfKey: text.count)
    text.append(byte: UInt8(ascii: ":"))
    if contents.contains(.wide) { values[place.level].hasWideKeys = true }
    // Keys are sorted by their value, not by their escaped form.
    if contents.contains(.escapes) { fail(.unusual) }
    if let last = members.last, members.count > values[place.level].firstMember, !precedes(last, member) {
      values[place.level].isSorted = false
    }
    members.append(member)
  }

  /// Begins an element of an array: closes the previous element.
  mutating func beginElement(of place: Place) throws(Failure) {
    try goTo(place)
    if values[place.level].count > 0 { text.append(byte: UInt8(ascii: ",")) }
    values[place.level].count += 1
  }

  /// Appends the value of the last member or element. Returns false if the value has to encode
  /// itself.
  @inline(__always)
  mutating func append<T>(plain value: T) throws(Failure) -> Bool {
    guard let isWritten = text.append(plain: value) else { return false }
    if !isWritten {
      fail(.unusual)
      throw .unusual
    }
    return true
  }

  mutating func appendNull() { text.append(json: "null") }

  // MARK: - Questions

  /// Whether the text is what `JSONEncoder` would have written.
  var isComplete: Bool { failure == nil && !isDoubtful && values.isEmpty }

  /// How many elements an array has.
  func count(of place: Place) -> Int { isOpen(place) ? values[place.level].count : 0 }

  func path(to place: Place) -> [any CodingKey] {
    isOpen(place) ? values[...place.level].compactMap(\.step) : []
  }

  // MARK: - The order of keys

  private func precedes(_ first: Member, _ second: Member) -> Bool {
    text.bytes(first.key).lexicographicallyPrecedes(text.bytes(second.key))
  }

  /// Sorts the members of the last object by key, once all are there.
  private mutating func finishMembers(of object: Value) {
    if object.hasWideKeys || !object.isSorted {
      let own = Array(members[object.firstMember...])
      if object.hasWideKeys, !areDifferent(own) { fail(.unusual) }
      if !object.isSorted { sort(own, of: object) }
    }
    members.removeLast(members.count - object.firstMember)
  }

  private mutating func sort(_ members: [Member], of object: Value) {
    let ends = members.dropFirst().map { $0.start - 1 } + [text.count]
    let sorted = zip(members, ends).sorted { precedes($0.0, $1.0) }
    // Of several members with the same key the last one counts, and they may share one container.
    if zip(sorted, sorted.dropFirst()).contains(where: { !precedes($0.0, $1.0) }) { fail(.unusual) }
    for (member, end) in sorted {
      if scratch.count > 0 { scratch.append(byte: UInt8(ascii: ",")) }
      scratch.append(text.bytes(member.start..<end))
    }
    text.cut(to: object.start)
    text.append(scratch.bytes)
    scratch.cut(to: 0)
  }

  /// Whether no two keys are equal texts, such as “é” in one and in two characters.
  private func areDifferent(_ members: [Member]) -> Bool {
    Set(members.map { String(decoding: text.bytes($0.key), as: UTF8.self) }).count == members.count
  }
}
