import ExampleSupport
import Foundation

/// What is looked at and made before anything runs, so that what is wrong is told then.
struct Preparation {
  /// The photos to order.
  let photos: [String]
  /// The commands, and what the script is called; nil if keys take their place.
  let script: (lines: [ScriptLine], name: String)?
  /// Where the graph will be drawn.
  let mermaid: String
  /// Whether the photos were made up.
  let hasSamples: Bool

  private static let automatic = "start all\nfulfill all\nwait"

  /// - Parameter hasKeys: whether a user can press keys.
  init(_ options: Options, hasKeys: Bool) throws(UsageError) {
    for (index, path) in options.photos.enumerated() { _ = try Photo(number: index + 1, path: path) }
    hasSamples = options.photos.isEmpty
    let count = hasSamples ? 2 : options.photos.count
    script = try Self.script(options, tasks: TaskName.all(photoCount: count), hasKeys: hasKeys)
    mermaid = options.mermaid ?? options.output + "/order.mmd"
    try Self.expectNothing(at: options.output, option: "--output")
    if let mermaid = options.mermaid { try Self.expectNothing(at: mermaid, option: "--mermaid") }
    try Self.makeFolder(options.output)
    do throws(UsageError) {
      try Self.expectFolder(of: mermaid)
      photos = hasSamples ? try Self.samples(count, options) : options.photos
    } catch {
      try? FileManager.default.removeItem(atPath: options.output)
      throw error
    }
  }

  private static func script(
    _ options: Options, tasks: [String], hasKeys: Bool
  ) throws(UsageError) -> ([ScriptLine], String)? {
    guard let path = options.script else {
      return hasKeys ? nil : (try ScriptParser(name: "automatic", tasks: tasks).parse(automatic), "automatic")
    }
    let remedy = "Name a file with commands; PhotoOrder --help lists them."
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
      throw UsageError(problem: "The script \(path) is a folder.", remedy: remedy)
    }
    let data: Data
    do {
      // Not `Data(contentsOf:)`, which does not read what a shell gives for <(…).
      let file = path == "-" ? .standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      data = try file.readToEnd() ?? Data()
    } catch {
      throw UsageError(
        problem: "The script \(path) cannot be read: \(FileError.reason(error)).", remedy: remedy)
    }
    let name = path == "-" ? "standard input" : path
    guard let text = String(data: data, encoding: .utf8) else {
      throw UsageError(problem: "The script \(path) is no text in UTF-8.", remedy: "Save it as UTF-8.")
    }
    return (try ScriptParser(name: name, tasks: tasks).parse(text), name)
  }

  private static func expectNothing(at path: String, option: String) throws(UsageError) {
    // Also a symbolic link that leads nowhere is something.
    guard (try? FileManager.default.attributesOfItem(atPath: path)) != nil else { return }
    throw UsageError(
      problem: "\(path) exists already.",
      remedy: "Remove it, or name another one with \(option), so that nothing is lost.")
  }

  private static func makeFolder(_ path: String) throws(UsageError) {
    guard mkdir(path, 0o777) != 0 else { return }
    let reason = String(cString: strerror(errno))
    throw UsageError(
      problem: "The folder \(path) cannot be made: \(reason).",
      remedy: "Name one with --output, in an existing folder that you may write to.")
  }

  private static func expectFolder(of path: String) throws(UsageError) {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder)
    guard !exists || !isFolder.boolValue || !FileManager.default.isWritableFile(atPath: folder) else { return }
    throw UsageError(
      problem:
        "\(path) cannot be written: \(exists && isFolder.boolValue ? "its folder is protected" : "there is no folder \(folder)").",
      remedy: "Name a file with --mermaid, in an existing folder that you may write to.")
  }

  private static func samples(_ count: Int, _ options: Options) throws(UsageError) -> [String] {
    let folder = options.output + "/samples"
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      var paths: [String] = []
      for number in 1...count {
        let path = "\(folder)/sample-\(number).ppm"
        try SamplePhoto.write(to: path, number: number, width: options.sampleWidth)
        paths.append(path)
      }
      return paths
    } catch {
      throw UsageError(
        problem: "Sample photos cannot be written to \(folder): \(FileError.reason(error)).",
        remedy: "Make room on the disk, or make smaller ones with --sample-width.")
    }
  }
}
