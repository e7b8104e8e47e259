import CompositeOperations
public import Foundation

/// What a server answered.
public struct HTTPResponse: Sendable {
  /// Where the answer came from: the request's address, or the last one that it was redirected to.
  public var url: URL?
  /// The status code, 200 for example.
  public var status: Int
  /// The header fields.
  public var headers: HTTPHeaders
  /// The body. Empty if it was written to a file.
  public var body: Data
  /// The file that the body was written to, if there is one.
  public var file: URL?

  /// Makes a response from its parts.
  public init(url: URL? = nil, status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data(), file: URL? = nil) {
    self.url = url
    self.status = status
    self.headers = headers
    self.body = body
    self.file = file
  }
}

/// The header fields of a request or a response. Their names have no case.
///
/// The values of a field that came several times are joined with a comma, as the standard requires.
public struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  private var fields: [String: (name: String, value: String)] = [:]

  /// Makes header fields from names and values. If names only differ in case, the last one counts.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { self[name] = value }
  }

  /// Makes header fields from names and values. If names only differ in case, any of them may
  /// count.
  public init(_ fields: [String: String]) {
    for (name, value) in fields { self[name] = value }
  }

  /// The value of the field of this name; nil if there is none. Set nil to remove it.
  public subscript(name: String) -> String? {
    get { fields[name.lowercased()]?.value }
    set { fields[name.lowercased()] = newValue.map { (name, $0) } }
  }

  /// The fields by their names, in the given spelling.
  public var dictionary: [String: String] {
    Dictionary(uniqueKeysWithValues: fields.values.map { ($0.name, $0.value) })
  }

  /// What is wrong with the fields: a name that is not a token of RFC 9110, or a value with a line
  /// break or another character that ends or hides a part of it. Foundation on Linux silently
  /// leaves out such fields.
  private var mistake: String? {
    for (name, value) in fields.values {
      guard !name.isEmpty, name.utf8.allSatisfy(HTTPHeaders.isNameCharacter) else {
        return "“\(HarmlessText.line(name))” is no name of a header field"
      }
      guard value.unicodeScalars.allSatisfy({ $0 == "\t" || !($0.value < 0x20 || $0.value == 0x7F) }) else {
        return "its header field \(name) has a line break or another control character in it"
      }
    }
    return nil
  }

  /// Throws an ``HTTPError`` if no request may have these fields.
  package func check(for url: URL?) throws {
    if let mistake { throw HTTPError(.invalidRequest, url: url, detail: mistake) }
  }

  /// Whether a name may have this byte: whether it belongs to a token of RFC 9110.
  static func isNameCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  /// Whether both have the same values by the same names, ignoring the case of names.
  public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
    left.fields.mapValues(\.value) == right.fields.mapValues(\.value)
  }
}
