import ExampleSupport
import Foundation

/// *Create Project*: makes the folder for the copies, and takes down what is ordered.
struct ProjectJob: FileJob {
  let title: String
  let folder: String
  private(set) var progress = 0.0

  init(title: String, folder: String) {
    self.title = title
    self.folder = folder
  }

  mutating func step() throws -> Project? {
    let project = Project(title: title, folder: folder)
    if progress == 0 {
      try OutputFile.makeFolder(project.photoFolder)
      progress = 0.5
      return nil
    }
    try OutputFile.write(project, to: folder + "/project.json")
    progress = 1
    return project
  }

  mutating func discard() {}
}

/// *Upload Photo*: copies a photo, and compares the copy with it.
struct UploadJob: FileJob {
  private enum Stage: Sendable {
    case begin
    case copy(from: FileHandle, to: FileHandle)
    case verify(FileHandle)
    case done
  }

  private let photo: Photo
  private let copy: String
  /// Where the copy is until it is complete; in another place for each attempt, for two may be
  /// under way when the first was cancelled. Its name is short, for that of the copy may have all
  /// the length that there is.
  private let partial: String
  private var stage = Stage.begin
  private var checksum = SHA256()
  private var expected = ""
  private var copied = 0
  private var verified = 0

  init(_ photo: Photo, to project: Project) {
    self.photo = photo
    copy = project.photoFolder + "/" + photo.copyName
    partial = "\(project.photoFolder)/.\(photo.number)-\(UUID().uuidString).part"
  }

  /// Copying is one half, verifying the other.
  var progress: Double {
    if case .done = stage { return 1 }
    return Double(copied + verified) / Double(max(1, 2 * max(photo.size, copied)))
  }

  mutating func step() throws -> UploadedPhoto? {
    switch stage {
    case .begin:
      let source = try InputFile.open(photo.path)
      stage = .copy(from: source, to: try OutputFile.open(partial, for: copy))
    case .copy(let source, let target):
      if let piece = try InputFile.piece(of: source, photo.path) {
        checksum.add(piece)
        try OutputFile.append(piece, to: target, copy)
        copied += piece.count
      } else {
        expected = checksum.finish()
        checksum = SHA256()
        try source.close()
        try target.close()
        stage = .verify(try InputFile.open(partial))
      }
    case .verify(let file):
      guard let piece = try InputFile.piece(of: file, partial) else {
        try file.close()
        guard checksum.finish() == expected else {
          throw FileError("\(copy) is not what was written to it.", remedy: "Check the disk, then retry the task.")
        }
        try OutputFile.move(partial, to: copy)
        stage = .done
        let file = "photos/" + photo.copyName
        return UploadedPhoto(number: photo.number, file: file, bytes: copied, sha256: expected)
      }
      checksum.add(piece)
      verified += piece.count
    case .done:
      preconditionFailure("The job was done")
    }
    return nil
  }

  mutating func discard() {
    if case .copy(let source, let target) = stage {
      try? source.close()
      try? target.close()
    }
    if case .verify(let file) = stage { try? file.close() }
    try? FileManager.default.removeItem(atPath: partial)
  }
}

/// *Submit Order*: checks all copies once more, and writes the order with their checksums.
struct SubmitJob: FileJob {
  private let receipt: Receipt
  private let folder: String
  private var next = 0
  private var file: FileHandle?
  private var checksum = SHA256()
  private var checked = 0
  private var isDone = false

  init(_ receipt: Receipt, to folder: String) {
    self.receipt = receipt
    self.folder = folder
  }

  var progress: Double {
    isDone ? 1 : Double(checked) / Double(max(1, receipt.photos.map(\.bytes).reduce(0, +)))
  }

  mutating func step() throws -> Receipt? {
    guard next < receipt.photos.count else {
      try OutputFile.write(receipt, to: folder + "/order.json")
      let sums = receipt.photos.map { "\($0.sha256)  \($0.file)\n" }.joined()
      try OutputFile.write(Data(sums.utf8), to: folder + "/SHA256SUMS")
      isDone = true
      return receipt
    }
    let photo = receipt.photos[next]
    let path = folder + "/" + photo.file
    guard let file else {
      file = try InputFile.open(path, remedy: "Reset the task \(TaskName.upload(photo.number)), and start it again.")
      return nil
    }
    if let piece = try InputFile.piece(of: file, path) {
      checksum.add(piece)
      checked += piece.count
      return nil
    }
    try file.close()
    self.file = nil
    guard checksum.finish() == photo.sha256 else {
      throw FileError(
        "\(path) was changed after it was copied.",
        remedy: "Reset the task \(TaskName.upload(photo.number)), and start it again.")
    }
    checksum = SHA256()
    next += 1
    return nil
  }

  mutating func discard() {
    try? file?.close()
  }
}
