/// Keeps passwords from being shown: of the command line, only what opens a server sees more than this leaves.
package enum HiddenPassword {
  private static let stars = "********"

  /// An argument as it may be shown: a URL, or a list of settings as libpq takes it, without its passwords.
  package static func hiding(in argument: String) -> String {
    guard argument.contains("://") || isConnectionString(argument) else { return argument }
    // Up to the last @, for a password may have one that its user has not encoded.
    let withoutUsers = argument.replacing(/(?s)(:\/\/[^:@\/?#]*):.*@/) { "\($0.1):\(stars)@" }
    return withoutUsers.replacing(/([A-Za-z_%0-9]+)(\s*=\s*)('[^']*'?|[^&\s]*)/) { setting in
      isSecret(setting.1) ? "\(setting.1)\(setting.2)\(stars)" : String(setting.0)
    }
  }

  /// Such as “host=db.example.org password=…”.
  package static func isConnectionString(_ argument: String) -> Bool {
    argument.contains(/(^|\s)(host|hostaddr|port|dbname|user|service)\s*=/)
  }

  /// Libpq decodes names, too: one that is encoded may be any.
  private static func isSecret(_ name: Substring) -> Bool {
    ["password", "secret", "%"].contains { name.lowercased().contains($0) }
  }
}
