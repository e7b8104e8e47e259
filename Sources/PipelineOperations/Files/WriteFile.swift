public import CompositeOperations
public import Foundation

/// A step that writes what flows into a file, and lets it pass.
///
/// The file is written whole or not at all: into another one, that then takes its place. Folders that are missing are made.
/// Everything that goes wrong is a failure of the step, with Foundation's error; what was there before is left as it was. If the
/// operation is cancelled before the writing begins nothing is written, and no folder made.
public struct WriteFile: PipelineStep {
  private let url: @Sendable (Data) throws -> URL

  /// Makes a step that writes into one file.
  public init(to url: URL) {
    self.url = { _ in url }
  }

  /// Makes a step that writes into a file that depends on what is written.
  ///
  /// - Parameter url: where to. Called as part of the work of the operation; what it throws is the failure of the step.
  public init(to url: @escaping @Sendable (Data) throws -> URL) {
    self.url = url
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for data: Data) -> SimpleOperation<Data> {
    SimpleOperation { operation in
      do {
        let url = try url(data)
        try url.requireFile(orElse: .fileWriteUnsupportedScheme)
        guard !operation.isCancelled else { throw CancellationError() }
        try FileManager.default.createDirectory(
          at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: url, options: .atomic)
        operation.finish(with: data)
      } catch {
        operation.reject(with: error)
      }
    }
  }
}
