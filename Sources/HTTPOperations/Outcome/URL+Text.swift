import Foundation

extension URL {
  /// The address without user, password, query and fragment, which may be nobody's business.
  var textWithoutSecrets: String {
    guard let host else { return scheme.map { "\($0):…" } ?? "“\(path)”" }
    return "\(scheme ?? "")://\(host)\(port.map { ":\($0)" } ?? "")\(path)"
  }
}
