import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("LoadFile and WriteFile", .timeLimit(.minutes(30)))
struct FileStepTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: [0, 1, 256 * 1024, 256 * 1024 + 1, 3_000_000])
  func loadFile_readsAllOfIt(size: Int) async throws {
    let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let file = try folder.file("a", content)
    #expect(try await LoadFile().run(file) == content)
    #expect(try await LoadFile(options: .mappedIfSafe).run(file) == content)
  }

  @Test func loadFile_ofLargeFile_tellsItsProgress() async throws {
    let file = try folder.file("large", Data(count: 1_048_576))
    let operation = LoadFile().operation(for: file)
    let seen = EventRecorder<Double>()
    operation.addObserver { event in if let fraction = event.fractionCompleted { seen.record(fraction) } }
    #expect(try await operation.run().count == 1_048_576)
    #expect(Array(seen.events.prefix(3)) == [0.25, 0.5, 0.75])
  }

  @Test func loadFile_ofALinkToALargeFile_tellsItsProgress() async throws {
    let file = try folder.file("large", Data(count: 1_048_576))
    let link = folder.url.appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let operation = LoadFile().operation(for: link)
    let seen = EventRecorder<Double>()
    operation.addObserver { event in if let fraction = event.fractionCompleted { seen.record(fraction) } }
    #expect(try await operation.run().count == 1_048_576)
    #expect(Array(seen.events.prefix(3)) == [0.25, 0.5, 0.75])
  }

  @Test func loadFile_thatIsMissing_failsWithFoundationsError() async throws {
    let error = try await outcome(of: Pipeline(LoadFile()), for: try folder.file("none")).stepError
    #expect(error?.stepName == "LoadFile")
    #expect((error?.cause as? CocoaError)?.code == .fileReadNoSuchFile)
  }

  @Test func loadFile_ofAFolder_fails() async throws {
    #expect(try await outcome(of: LoadFile(), for: folder.url).error != nil)
  }

  @Test func loadFile_ofAnotherURL_fails_insteadOfLoadingIt() async throws {
    let error = try await outcome(of: LoadFile(), for: URL(string: "http://127.0.0.1:1/a")!).error
    #expect((error as? CocoaError)?.code == .fileReadUnsupportedScheme)
    #expect(try await outcome(of: LoadFile(), for: URL(string: "data:,abc")!).error != nil)
  }

  @Test func loadFile_cancelledWhileItReads_isCancelled() async throws {
    let file = try folder.file("large", Data(count: 2_000_000))
    let operation = LoadFile().operation(for: file)
    operation.addObserver { [weak operation] event in if event.kind == .progress { operation?.cancel() } }
    operation.start()
    #expect(await settled(operation).isCancelled)
  }

  @Test func loadFile_ofAPipe_readsToItsEnd() async throws {
    let pipe = try folder.pipe("pipe")
    Thread.detachNewThread {
      let file = try? FileHandle(forWritingTo: pipe)
      try? file?.write(contentsOf: Data(count: 300_000))
      try? file?.close()
    }
    #expect(try await LoadFile().run(pipe) == Data(count: 300_000))
  }

  @Test func loadFile_ofAPipe_cancelledWhileItReads_isCancelled() async throws {
    let pipe = try folder.pipe("pipe")
    let (flows, goesOn, isBroken, hasEnded) = (Gate(), Gate(), Gate(), Gate())
    Thread.detachNewThread {
      let descriptor = open(pipe.path, O_WRONLY)
      // To write to a pipe that nobody reads is an error then, and no signal.
      #if canImport(Darwin)
      _ = fcntl(descriptor, F_SETNOSIGPIPE, 1)
      #else
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      #endif
      let part = [UInt8](repeating: 1, count: 65_536)
      for number in 0..<256 {
        if number == 32 {
          flows.open()
          goesOn.waitBlocking()
        }
        guard write(descriptor, part, part.count) == part.count else {
          isBroken.open()
          break
        }
      }
      close(descriptor)
      hasEnded.open()
    }
    let operation = LoadFile().operation(for: pipe)
    DispatchQueue.global().async { operation.start() }
    await flows.wait()
    operation.cancel()
    goesOn.open()
    #expect(await settled(operation).isCancelled)
    await hasEnded.wait()
    #expect(isBroken.isOpen)
  }

  @Test func writeFile_makesFolders_andPassesItsInputOn() async throws {
    let file = folder.url.appendingPathComponent("a/b/c.txt")
    let pipeline = Pipeline(of: String.self).then { Data($0.utf8) }.then(WriteFile(to: file)).then { $0.count }
    #expect(try await pipeline.run("hello") == 5)
    #expect(try String(contentsOf: file, encoding: .utf8) == "hello")
  }

  @Test func writeFile_overAnother_leavesNothingElse() async throws {
    let file = try folder.file("a", Data("old and longer".utf8))
    #expect(try await WriteFile(to: file).run(Data("new".utf8)) == Data("new".utf8))
    #expect(try Data(contentsOf: file) == Data("new".utf8))
    #expect(try folder.names == ["a"])
  }

  @Test func writeFile_toAURLThatDependsOnTheData() async throws {
    let step = WriteFile { [folder] data in folder.url.appendingPathComponent("\(data.count)") }
    _ = try await step.run(Data(count: 3))
    #expect(try folder.names == ["3"])
    let failing = WriteFile { _ in throw TestError.first }
    #expect(try await outcome(of: failing, for: Data()).error as? TestError == .first)
  }

  @Test(arguments: SpecialFile.makeable, [false, true])
  func writeFile_toWhatIsNoRegularFile_isRefused_andLeavesIt(_ special: SpecialFile, throughALink: Bool) async throws {
    let place = folder.url.appendingPathComponent("special"), link = folder.url.appendingPathComponent("link")
    try special.make(at: place)
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "special")
    let before = SpecialFile.identity(at: place)
    let error = try await outcome(of: WriteFile(to: throughALink ? link : place), for: Data("new".utf8)).error
    #expect((error as? CocoaError)?.code == .fileWriteUnknown)
    #expect(error?.localizedDescription.contains("“\(place.path)” is not a regular file") == true)
    #expect(SpecialFile.identity(at: place) == before)
    #expect(try folder.names == ["link", "special"])
  }

  @Test func writeFile_toADescriptor_isRefused() async throws {
    let file = try folder.file("file", Data("old".utf8))
    let handle = try FileHandle(forUpdating: file)
    let step = WriteFile(to: URL(filePath: "/dev/fd/\(handle.fileDescriptor)"))
    #expect(try await outcome(of: step, for: Data("new".utf8)).error is CocoaError)
    #expect(try Data(contentsOf: file) == Data("old".utf8))
    try handle.close()
  }

  @Test(arguments: [false, true]) func writeFile_throughLinks_keepsThem_andReplacesTheirEnd(_ exists: Bool) async throws
  {
    let first = folder.url.appendingPathComponent("first"), second = folder.url.appendingPathComponent("second")
    try FileManager.default.createSymbolicLink(atPath: first.path, withDestinationPath: "second")
    let file = folder.url.appendingPathComponent("missing/file")
    try FileManager.default.createSymbolicLink(atPath: second.path, withDestinationPath: "./missing/file")
    if exists { _ = try await WriteFile(to: file).run(Data("old".utf8)) }
    let links = [first, second].map { SpecialFile.identity(at: $0) }
    _ = try await WriteFile(to: first).run(Data("new".utf8))
    #expect(try Data(contentsOf: file) == Data("new".utf8))
    #expect([first, second].map { SpecialFile.identity(at: $0) } == links)
    #expect(try folder.names == ["first", "missing", "second"])
  }

  @Test func writeFile_throughACircleOfLinks_isRefused() async throws {
    let link = folder.url.appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "link")
    #expect(try await outcome(of: WriteFile(to: link), for: Data("new".utf8)).error != nil)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "link")
  }

  @Test("BkTask 15 WriteFile reports every error")
  func b15_writeFile_reportsEveryError() async throws {
    let file = try folder.file("file", Data("kept".utf8))
    let places = [
      file.appendingPathComponent("below/a"), folder.url, URL(fileURLWithPath: "/proc/none/a"),
      URL(string: "http://127.0.0.1/a")!,
    ]
    for place in places {
      let error = try await outcome(of: Pipeline(WriteFile(to: place)), for: Data("x".utf8)).stepError
      #expect(error?.stepName == "WriteFile", "\(place)")
    }
    #expect(try Data(contentsOf: file) == Data("kept".utf8))
    #expect(try folder.names == ["file"])
  }
}
