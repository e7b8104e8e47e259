public import Foundation

/// Finds executables of this package, which are built into the folder that the tests are built
/// into, whatever its name.
public enum BuiltExecutable {
  /// The error for a missing executable beside the tests.
  public struct NotFound: Error, CustomStringConvertible {
    let name: String
    let places: [String]

    /// A text that names the executable, the place and the remedy.
    public var description: String {
      "There is no \(name) executable near \(places.joined(separator: ", ")). Build it: swift build --product \(name)"
    }
  }

  /// The executable called `name`.
  public static func url(of name: String) throws -> URL {
    var starts = Bundle.allBundles.map(\.bundleURL) + [URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()]
    starts += CommandLine.arguments.filter { $0.contains(".xctest") }.map { URL(fileURLWithPath: $0) }
    for start in starts {
      var folder = start
      for _ in 0..<5 {
        folder.deleteLastPathComponent()
        let candidate = folder.appendingPathComponent(name)
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isFolder)
        if exists, !isFolder.boolValue, FileManager.default.isExecutableFile(atPath: candidate.path) {
          return candidate
        }
      }
    }
    throw NotFound(name: name, places: starts.map(\.path))
  }
}
