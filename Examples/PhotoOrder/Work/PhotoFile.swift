import ExampleSupport
import Foundation

extension Photo {
  /// Looks at the file, which has to be readable.
  init(number: Int, path: String) throws(UsageError) {
    guard !path.isEmpty else {
      throw UsageError(problem: "Photo \(number) has an empty path.", remedy: "Name a file.")
    }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw UsageError(
        problem: "\(path) does not exist.",
        remedy: "Check the spelling, or name no photo at all to order made-up samples.")
    }
    if isFolder.boolValue {
      throw UsageError(problem: "\(path) is a folder.", remedy: "Name the photos in it, for example: \(path)/*.jpg")
    }
    do {
      let attributes = try FileManager.default.attributesOfItem(
        atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
      // Opening a pipe, for instance, would wait for a writer.
      guard attributes[.type] as? FileAttributeType == .typeRegular else {
        throw UsageError(problem: "\(path) is no regular file.", remedy: "Name a file with a photo in it.")
      }
      try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).close()
      self.init(number: number, path: path, size: (attributes[.size] as? NSNumber)?.intValue ?? 0)
    } catch let error as UsageError {
      throw error
    } catch {
      throw UsageError(
        problem: "\(path) cannot be read: \(FileError.reason(error)).",
        remedy: "Make it readable, for example with chmod u+r, or leave it out.")
    }
  }
}
