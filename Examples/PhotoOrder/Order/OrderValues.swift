import Foundation

// What the tasks hand to each other.

/// A photo that can be read.
struct Photo: Equatable, Sendable {
  /// The number in the order, from 1.
  let number: Int
  let path: String
  let size: Int

  /// What its copy is called; the number makes it unique. Shortened before its ending to the length
  /// that file systems take.
  var copyName: String {
    let name = "\(number)-\(URL(fileURLWithPath: path).lastPathComponent)"
    let dot = name.lastIndex(of: ".") ?? name.endIndex
    let ending = name[dot...].utf8.count < 32 ? name[dot...] : ""
    var stem = name.dropLast(ending.count)
    while stem.utf8.count + ending.utf8.count > 255 { stem.removeLast() }
    return String(stem + ending)
  }
}

/// The result of *Create Project*.
struct Project: Codable, Equatable, Sendable {
  let title: String
  /// The folder of the order.
  let folder: String

  var photoFolder: String { folder + "/photos" }
}

/// The result of *Upload Photo*.
struct UploadedPhoto: Codable, Equatable, Sendable {
  let number: Int
  /// Where the copy is, in the folder of the order.
  let file: String
  let bytes: Int
  let sha256: String
}

/// The value of *Metadata Available*.
struct Metadata: Codable, Equatable, Sendable {
  let paper: String
  let copies: Int
}

/// The result of *Submit Order*.
struct Receipt: Codable, Equatable, Sendable {
  let title: String
  let metadata: Metadata
  let photos: [UploadedPhoto]
}
