import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

/// Downloads to what is not a regular file, and to links.
@Suite("HTTP: places of downloads", .hangLimit) struct DownloadPlaceTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func download(to place: URL) async throws -> Outcome<HTTPResponse> {
    let server = try HTTPServer()
    server.route("/", .ok("new"))
    let outcome = await outcomeOfStarting(HTTPOperation(request(server.url()), transfer: .download(to: place)))
    await server.stop()
    return outcome
  }

  private func link(_ name: String, to path: String) throws {
    try FileManager.default.createSymbolicLink(atPath: folder.file(name).path, withDestinationPath: path)
  }

  @Test(arguments: SpecialFile.makeable, [false, true])
  func download_toWhatIsNoRegularFile_isRefused_andLeavesIt(_ special: SpecialFile, throughALink: Bool) async throws {
    let place = folder.file("special")
    try special.make(at: place)
    let before = SpecialFile.identity(at: place)
    if throughALink { try link("link", to: "special") }
    let target = throughALink ? folder.file("link") : place
    let error = try await download(to: target).httpError
    #expect(error?.code == .unwritableFile && error?.url == target)
    #expect(error?.description.contains("“\(place.path)” is not a regular file") == true, "\(error?.description ?? "")")
    #expect(SpecialFile.identity(at: place) == before)
    let contents = try folder.contents()
    #expect(contents == (throughALink ? ["link", "special"] : ["special"]))
  }

  /// Opened by that name, the file would be replaced, or be written from its beginning.
  @Test func download_toADescriptor_isRefused() async throws {
    try Data("old".utf8).write(to: folder.file("file"))
    let handle = try FileHandle(forUpdating: folder.file("file"))
    let error = try await download(to: URL(filePath: "/dev/fd/\(handle.fileDescriptor)")).httpError
    #expect(error?.code == .unwritableFile)
    #expect(folder.text(of: "file") == "old")
    let contents = try folder.contents()
    #expect(contents == ["file"])
    try handle.close()
  }

  @Test(arguments: [false, true]) func download_throughLinks_keepsThem_andReplacesTheirEnd(_ exists: Bool) async throws
  {
    for inner in ["a/links", "a/files"] {
      try FileManager.default.createDirectory(at: folder.file(inner), withIntermediateDirectories: true)
    }
    // As the system does it, ".." leads to the folder around the real one.
    try link("way", to: "a/links")
    try link("a/links/first", to: "second")
    try link("a/links/second", to: "../files/third")
    try link("a/files/third", to: folder.file("a/file").path)
    if exists { try Data("old".utf8).write(to: folder.file("a/file")) }
    let place = folder.file("way/first")
    let names = ["way", "a/links/first", "a/links/second", "a/files/third"]
    let links = names.map { SpecialFile.identity(at: folder.file($0)) }
    let response = try await download(to: place).value
    #expect(response?.file == place)
    #expect(folder.text(of: "a/file") == "new")
    #expect(names.map { SpecialFile.identity(at: folder.file($0)) } == links)
    let contents = try folder.contents()
    #expect(
      contents == ["a", "a/file", "a/files", "a/files/third", "a/links", "a/links/first", "a/links/second", "way"])
  }

  @Test func download_throughALinkToAMissingFolder_makesTheFolder() async throws {
    try link("link", to: "missing/inner/file")
    let response = try await download(to: folder.file("link")).value
    #expect(response != nil)
    #expect(folder.text(of: "missing/inner/file") == "new")
    let destination = try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link").path)
    #expect(destination == "missing/inner/file")
  }

  @Test func download_throughACircleOfLinks_isRefused() async throws {
    try link("one", to: "two")
    try link("two", to: "one")
    let error = try await download(to: folder.file("one")).httpError
    #expect(error?.code == .unwritableFile)
    let contents = try folder.contents()
    #expect(contents == ["one", "two"])
  }

  @Test func download_toAFolder_isRefused_beforeTheBodyHasCome() async throws {
    try FileManager.default.createDirectory(at: folder.file("folder"), withIntermediateDirectories: true)
    try await withServer { server in
      server.route("/", .pieces([HTTPPiece("x"), HTTPPiece("y").held(by: Gate())]))
      let operation = HTTPOperation(request(server.url()), transfer: .download(to: folder.file("folder")))
      #expect(await outcomeOfStarting(operation).httpError?.code == .unwritableFile)
    }
    let contents = try folder.contents()
    #expect(contents == ["folder"])
  }
}
