/// The header fields of a request or a response, found by their names whatever their case.
///
/// A field that came several times has its values joined with a comma, as the standard has it.
public struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  private var fields: [String: (name: String, value: String)] = [:]

  /// Makes header fields from names and values. Of two whose names only differ in case the later one counts.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { self[name] = value }
  }

  /// Makes header fields from names and values. Of two whose names only differ in case it is not told which one counts.
  public init(_ fields: [String: String]) {
    for (name, value) in fields { self[name] = value }
  }

  /// The value of the field of this name; nil if there is none. Set nil to remove it.
  public subscript(name: String) -> String? {
    get { fields[name.lowercased()]?.value }
    set { fields[name.lowercased()] = newValue.map { (name, $0) } }
  }

  /// The fields by their names, as they were spelt.
  public var dictionary: [String: String] {
    Dictionary(uniqueKeysWithValues: fields.values.map { ($0.name, $0.value) })
  }

  /// Whether both have the same values by the same names, whatever the names' case.
  public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
    left.fields.mapValues(\.value) == right.fields.mapValues(\.value)
  }
}
