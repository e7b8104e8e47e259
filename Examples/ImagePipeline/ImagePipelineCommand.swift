import CompositeOperations
import ExampleSupport
import Foundation
import OperationTimelines

/// The program: runs the pipeline, with a recorder attached, and writes what it recorded.
enum ImagePipelineCommand {
  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      if options.showsHelp {
        print(Options.help)
      } else {
        try await run(options)
      }
    } catch let error as UsageError {
      fail("\(error)", status: 2)
    } catch {
      fail("ImagePipeline: \(error.localizedDescription)", status: 1)
    }
  }

  private static func run(_ options: Options) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ImagePipeline-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }

    let pipeline = Pipeline(names: options.names, store: Store(folder: folder)).operation()
    let recorder = TimelineRecorder()
    recorder.attach(to: pipeline)
    let progress = TerminalProgress()
    progress.track(pipeline)
    // The damaged image is a part of the show.
    let outcome = await Task { try await pipeline.run() }.result
    await progress.finish()
    let timeline = recorder.timeline

    if options.printsText { print(timeline.textTree(), terminator: "") }
    if let path = options.html {
      try OutputFile.write(timeline.html(title: "Image pipeline"), to: URL(fileURLWithPath: path), as: "timeline")
    }
    if let path = options.trace {
      try OutputFile.write(timeline.chromeTrace(), to: URL(fileURLWithPath: path), as: "timeline")
    }
    if !options.printsText {
      let failed = timeline.entries.count { if case .failure = $0.ending { true } else { false } }
      print("\(timeline.entries.count) operations, of which \(failed) failed; \(options.names.count) images")
    }
    if case .failure(let error) = outcome { throw error }
  }

  private static func fail(_ text: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(status)
  }
}
