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
        try StandardStream.output.print(Options.help + "\n")
      } else {
        let status = try await run(options)
        if status != 0 { exit(status) }
      }
    } catch let error as UsageError {
      fail("\(error)", status: 2)
    } catch {
      fail("ImagePipeline: \(error.localizedDescription)", status: 1)
    }
  }

  /// Returns the exit status.
  private static func run(_ options: Options) async throws -> Int32 {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ImagePipeline-\(UUID().uuidString)")
    let pipeline = Pipeline(names: options.names, store: Store(folder: folder)).operation()
    let recorder = TimelineRecorder()
    recorder.attach(to: pipeline)
    let signal = Shared<Int32?>(nil)
    // Before there is anything that must not be left behind.
    let end = await GracefulEnd(showsBars: true) { number in
      signal.withLock { $0 = number }
      pipeline.cancel()
    }
    let outcome = try await show(pipeline, in: folder)
    end.end()
    if let number = signal.withLock({ $0 }) { return 128 + number }
    let timeline = recorder.timeline

    if options.printsText { try StandardStream.output.print(timeline.textTree()) }
    if let path = options.html {
      try OutputFile.write(timeline.html(title: "Image pipeline"), to: URL(fileURLWithPath: path), as: "timeline")
    }
    if let path = options.trace {
      try OutputFile.write(timeline.chromeTrace(), to: URL(fileURLWithPath: path), as: "timeline")
    }
    if !options.printsText {
      let failed = timeline.entries.count { if case .failure = $0.ending { true } else { false } }
      try StandardStream.output.print(
        "\(timeline.entries.count) operations, of which \(failed) failed; \(options.names.count) images\n")
    }
    if case .failure(let error) = outcome { throw error }
    return 0
  }

  /// Runs the pipeline with a bar. The bar and the folder are gone afterwards, also if the pipeline
  /// was cancelled.
  private static func show(
    _ pipeline: CompositeOperation, in folder: URL
  ) async throws -> Result<[any Sendable], any Error> {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let progress = TerminalProgress()
    progress.track(pipeline)
    // The damaged image is a part of the show.
    let outcome = await Task { try await pipeline.run() }.result
    await progress.finish()
    return outcome
  }

  private static func fail(_ text: String, status: Int32) -> Never {
    try? StandardStream.error.write(text + "\n")
    exit(status)
  }
}
