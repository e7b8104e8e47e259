import ExampleSupport
import Foundation

/// The files of a folder, as messages.
struct MessageFolder {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Sorted by the names of the files.
  private(set) var messages: [Message] = []
  /// About files that are no messages.
  private(set) var remarks: [String] = []
  /// About files that should be messages, but cannot be.
  private(set) var complaints: [String] = []

  /// Reads the visible files of a folder.
  init(_ path: String) throws(Failure) {
    let manager = FileManager.default
    var isFolder: ObjCBool = false
    guard manager.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw Failure(description: "There is no folder \(path). Check the spelling.")
    }
    guard isFolder.boolValue else {
      throw Failure(description: "\(path) is a file. Name the folder that it is in.")
    }
    let names: [String]
    do {
      names = try manager.contentsOfDirectory(atPath: path).sorted()
    } catch {
      throw Failure(description: "The folder \(path) cannot be read: \(error.localizedDescription)")
    }
    for name in names where !name.hasPrefix(".") { add(name, in: URL(fileURLWithPath: path)) }
  }

  private mutating func add(_ name: String, in folder: URL) {
    let file = folder.appendingPathComponent(name)
    let shown = Wording.plain(name)
    do {
      // The attributes of the target of a link.
      let attributes = try FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)
      let type = attributes[.type] as? FileAttributeType
      if type == .typeDirectory { return }
      // A remaining link leads nowhere; reading it reports that.
      guard type == .typeRegular || type == .typeSymbolicLink else {
        return remarks.append("\(shown) is no regular file, and was left out.")
      }
      // Before reading: the file may be larger than the memory.
      let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
      guard size <= Message.largestContent else {
        return complaints.append(
          "\(shown) takes \(size) bytes, and a message can take \(Message.largestContent) at most. Split it, or put it "
            + "where the receiver finds it and send a message that tells where.")
      }
      messages.append(Message(name: name, content: try Data(contentsOf: file)))
    } catch {
      complaints.append("\(shown) cannot be read: \(error.localizedDescription)")
    }
  }
}
