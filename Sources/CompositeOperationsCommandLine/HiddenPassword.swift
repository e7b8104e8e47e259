/// Hides passwords in command lines that are shown.
package enum HiddenPassword {
  private static let stars = "********"

  /// An argument without its passwords, where it is a URL or a list of settings in the form of
  /// libpq.
  package static func hiding(in argument: String) -> String {
    // By scalars, here as in all patterns: libpq does not join an accent to the sign before it.
    let url = argument.firstMatch(of: /:\/\//.matchingSemantics(.unicodeScalar))
    guard isConnectionString(argument) else { return url == nil ? argument : hiding(inURL: argument) }
    // A list may have a URL in it: as a value, after the name of its setting.
    let setting = /(^|\s)\w+\s*=/.matchingSemantics(.unicodeScalar)
    guard let url, !argument[..<url.range.lowerBound].contains(setting) else { return hiding(inList: argument) }
    return hiding(inURL: argument)
  }

  private static func hiding(inURL argument: String) -> String {
    let setting = /([A-Za-z_%0-9]+)(\s*=\s*)('[^']*'?|[^&\s]*)/.matchingSemantics(.unicodeScalar)
    return hidingUsers(in: argument).replacing(setting) { hiding($0.1, $0.2, in: $0.0) }
  }

  /// By the rules of libpq: a backslash takes the meaning from what follows, also from a blank, and
  /// from a quotation mark inside of others.
  private static func hiding(inList argument: String) -> String {
    let setting = /(?s)([A-Za-z_%0-9]+)([\t-\r ]*=[\t-\r ]*)('(?:[^'\\]|\\.?)*'?|(?:[^\\\t-\r ]|\\.?)*)/
    return hidingUsers(
      in: argument.replacing(setting.matchingSemantics(.unicodeScalar)) {
        // A value may be a URL. One without quotation marks may hold what was meant as further
        // settings.
        let value = $0.3.unicodeScalars.first == "'" ? hiding(inQuery: $0.3) : hiding(inURL: String($0.3))
        return "\($0.1)\($0.2)\(isSecret($0.1) ? stars : value)"
      })
  }

  private static func hiding(inQuery value: Substring) -> String {
    let setting = /(?s)([?&][A-Za-z_%0-9]+)=(?:\\.|[^&'\\])*/.matchingSemantics(.unicodeScalar)
    return value.replacing(setting) { isSecret($0.1) ? "\($0.1)=\(stars)" : String($0.0) }.description
  }

  private static func hiding(_ name: Substring, _ separator: Substring, in setting: Substring) -> String {
    isSecret(name) ? "\(name)\(separator)\(stars)" : String(setting)
  }

  private static func hidingUsers(in argument: String) -> String {
    // Up to the last @, for a password may have one that is not encoded.
    let user = /(?s)(:\/\/[^:@\/?#]*):.*@/.matchingSemantics(.unicodeScalar)
    return argument.replacing(user) { "\($0.1):\(stars)@" }
  }

  /// Whether an argument is a list of settings, such as “host=db.example.org password=…”.
  package static func isConnectionString(_ argument: String) -> Bool {
    argument.contains(
      /(^|\s)(host|hostaddr|port|dbname|user|service)\s*=/.matchingSemantics(.unicodeScalar))
  }

  /// Whether a setting may be secret. Libpq decodes names, too, so an encoded name may be any.
  private static func isSecret(_ name: Substring) -> Bool {
    ["password", "secret", "%"].contains { name.lowercased().contains($0) }
  }
}
