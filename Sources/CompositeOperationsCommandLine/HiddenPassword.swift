/// Hides passwords in command lines that are shown.
package enum HiddenPassword {
  private static let stars = "********"

  /// An argument without its passwords, where it is a URL or a list of settings in the form of
  /// libpq.
  package static func hiding(in argument: String) -> String {
    guard argument.contains("://") || isConnectionString(argument) else { return argument }
    // Up to the last @, for a password may have one that is not encoded.
    let withoutUsers = argument.replacing(/(?s)(:\/\/[^:@\/?#]*):.*@/) { "\($0.1):\(stars)@" }
    return withoutUsers.replacing(/([A-Za-z_%0-9]+)(\s*=\s*)('[^']*'?|[^&\s]*)/) { setting in
      isSecret(setting.1) ? "\(setting.1)\(setting.2)\(stars)" : String(setting.0)
    }
  }

  /// Whether an argument is a list of settings, such as “host=db.example.org password=…”.
  package static func isConnectionString(_ argument: String) -> Bool {
    argument.contains(/(^|\s)(host|hostaddr|port|dbname|user|service)\s*=/)
  }

  /// Whether a setting may be secret. Libpq decodes names, too, so an encoded name may be any.
  private static func isSecret(_ name: Substring) -> Bool {
    ["password", "secret", "%"].contains { name.lowercased().contains($0) }
  }
}
