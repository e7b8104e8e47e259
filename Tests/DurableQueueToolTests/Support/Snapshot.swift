import Foundation

/// The content of a folder, to check that nothing changed.
struct Snapshot: Equatable {
  private var contents: [String: Data] = [:]
  private var dates: [String: Date] = [:]

  var names: Set<String> { Set(contents.keys) }

  /// - Parameter isLive: whether a program uses the queue in the folder. Readers register in the
  ///   file with `-shm` at its end.
  init(_ folder: URL, isLive: Bool = false) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let file = folder.appendingPathComponent(name)
      let isShared = isLive && name.hasSuffix("-shm")
      contents[name] = isShared ? Data() : try Data(contentsOf: file)
      if isShared { continue }
      dates[name] = try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
    }
  }
}
