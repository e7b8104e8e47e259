import Foundation

extension URL {
  /// Where opening this URL makes a file: at the end of the symbolic links, even if nothing is
  /// there yet.
  var whereLinksLead: URL {
    var url = self
    // As many as Linux follows.
    for _ in 0..<40 {
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: url.path) else { break }
      // Joined as texts: the system follows links before it goes up.
      url = URL(fileURLWithPath: target.hasPrefix("/") ? target : "\(url.deletingLastPathComponent().path)/\(target)")
    }
    return url
  }
}
