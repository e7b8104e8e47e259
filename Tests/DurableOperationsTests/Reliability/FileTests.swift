#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// The files of a queue: who may read them, and how large they become.
@Suite(.timeLimit(.minutes(30))) struct FileTests {
  private let folder: URL
  private let file: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("FileTests-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    file = folder.appendingPathComponent("jobs.sqlite")
  }

  private func attribute<T>(_ key: FileAttributeKey, of end: String = "") -> T? {
    (try? FileManager.default.attributesOfItem(atPath: file.path + end))?[key] as? T
  }

  private func permissions(_ end: String = "") -> Int? { attribute(.posixPermissions, of: end) }
  private var logSize: Int { attribute(.size, of: "-wal") ?? 0 }

  /// DUR-4
  @Test(arguments: [(DurableQueue.FileAccess.owner, 0o600), (.group, 0o660)])
  func file_thatIsMade_isForItsOwner(_ access: DurableQueue.FileAccess, _ mode: Int) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = DurableQueue.Configuration()
    configuration.fileAccess = access
    let queue = try DurableQueue(location: .file(file), configuration: configuration)
    _ = try queue.enqueue(Count(number: 1))
    #expect([permissions(), permissions("-wal"), permissions("-shm")] == [mode, mode, mode])
  }

  @Test func file_thatIsMadeWhereLinksLead_isForItsOwner() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let links = ["first.sqlite", "second.sqlite"].map { folder.appendingPathComponent($0) }
    try FileManager.default.createSymbolicLink(atPath: links[0].path, withDestinationPath: "second.sqlite")
    try FileManager.default.createSymbolicLink(at: links[1], withDestinationURL: file)
    let queue = try DurableQueue(location: .file(links[0]))
    _ = try queue.enqueue(Count(number: 1))
    #expect([permissions(), permissions("-wal"), permissions("-shm")] == [0o600, 0o600, 0o600])
  }

  @Test func file_thatIsThere_keepsItsPermissions() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try DurableQueue(location: .file(file))
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
    _ = try DurableQueue(location: .file(file))
    #expect(permissions() == 0o640)
  }

  /// DUR-3: what is in the log alone would be as if it had never been, if that is lost.
  @Test func youngFile_hasItsTables_withoutItsLog() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let queue = try DurableQueue(location: .file(file))
    let copy = folder.appendingPathComponent("copy.sqlite")
    try FileManager.default.copyItem(at: file, to: copy)
    withExtendedLifetime(queue) {}
    _ = try DurableQueue(location: .existingFile(copy))
  }

  /// DUR-3
  @Test func log_whileAReaderIsThere_shrinksAfterwards() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .seconds(60)
    configuration.durability = .normal
    let queue = try DurableQueue(location: .file(file), configuration: configuration)
    let reader = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
    try reader.execute("BEGIN; SELECT count(*) FROM durable_jobs")
    let payload = String(repeating: "x", count: 20_000)
    for _ in 0..<10 { try await queue.enqueue(contentsOf: (0..<60).map { _ in Text(text: payload) }) }
    #expect(logSize > 10_000_000)
    try reader.execute("COMMIT")
    queue.start()
    await queue.stop()
    #expect(logSize == 0)
  }

  @Test func log_ofAnIdleQueue_whenAReaderIsGone_isCutAtTheNextLook() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let harness = try Harness(.file(file)) { $0.durability = .normal }, queue = harness.queue
    queue.start()
    let reader = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
    try reader.execute("BEGIN; SELECT count(*) FROM durable_jobs")
    let payload = String(repeating: "x", count: 20_000)
    for _ in 0..<10 { try await queue.enqueue(contentsOf: (0..<60).map { _ in Text(text: payload) }) }
    func look() async {
      for _ in 0..<3 {
        harness.clock.advance(by: .seconds(2))
        await queue.hasLookedAround()
        await queue.hasNothingUnderWay()
      }
    }
    await look()
    #expect(logSize > 10_000_000)
    try reader.execute("COMMIT")
    await look()
    #expect(logSize == 0)
    // What is stored from then on is not lost, either.
    let id = try await queue.enqueue(Count(number: 1))
    await queue.stop()
    #expect(try await DurableQueue.patient(file).job(id)?.state == .waiting)
  }

  // MARK: - Names

  /// Each name has a log of its own.
  @Test func fileWithTwoHardLinks_isRefused() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    do { _ = try DurableQueue(location: .file(file)) }
    let other = folder.appendingPathComponent("other.sqlite"), link = folder.appendingPathComponent("link.sqlite")
    try FileManager.default.linkItem(at: file, to: other)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    for file in [file, other, link] {
      for location in [DurableQueue.Location.file(file), .existingFile(file), .readOnlyFile(file)] {
        #expect {
          _ = try DurableQueue(location: location)
        } throws: { error in
          (error as? DatabaseError)?.code == .cannotOpen && "\(error)".contains("2 hard links")
        }
      }
    }
    try FileManager.default.removeItem(at: other)
    _ = try DurableQueue(location: .file(link)).enqueue(Count(number: 1))
  }

  /// The names of the files beside it have up to eleven bytes more.
  @Test(arguments: [245, 248, 255]) func fileWhoseNameIsTooLong_isRefused_andNothingIsMade(length: Int) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    // Two bytes each, as file systems count.
    let name = String(repeating: "ä", count: length / 2) + String(repeating: "x", count: length % 2)
    let file = folder.appendingPathComponent(name), link = folder.appendingPathComponent("link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let missing = folder.appendingPathComponent("missing")
    for file in [file, link, missing.appendingPathComponent(name)] {
      #expect {
        _ = try DurableQueue(location: .file(file))
      } throws: { error in
        (error as? DatabaseError)?.code == .cannotOpen && "\(error)".contains("\(length) bytes")
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: missing.path).isEmpty)
    #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["link.sqlite", "missing"])
  }

  @Test func fileWithTheLongestName_storesJobs() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent(String(repeating: "x", count: 244))
    let id = try DurableQueue(location: .file(file)).enqueue(Count(number: 1))
    #expect(try DurableQueue(location: .file(file)).job(id)?.state == .waiting)
  }

  private struct Text: Job {
    static let kind = "text"
    let text: String
  }
}
#endif
