public import CompositeOperations
public import Foundation

/// A step that reads the file that it is given the URL of.
///
/// The file is read on the thread of the operation, piece by piece, so that the step tells its progress, and stops soon when it
/// is cancelled. With reading options it is read in one go.
///
/// It fails with Foundation's error: `CocoaError.fileReadNoSuchFile`, for example. A URL that is none of a file is
/// `CocoaError.fileReadUnsupportedScheme`: ``LoadURL`` loads those.
public struct LoadFile: PipelineStep {
  private static let pieceSize = 256 * 1024

  private let options: Data.ReadingOptions

  /// Makes the step.
  ///
  /// - Parameter options: how to read, to map the file into memory for example.
  public init(options: Data.ReadingOptions = []) {
    self.options = options
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for url: URL) -> SimpleOperation<Data> {
    SimpleOperation { operation in
      do {
        try url.requireFile(orElse: .fileReadUnsupportedScheme)
        operation.finish(
          with: options.isEmpty ? try LoadFile.read(url, operation) : try Data(contentsOf: url, options: options))
      } catch {
        operation.reject(with: error)
      }
    }
  }

  private static func read(_ url: URL, _ operation: SettlingOperation) throws -> Data {
    // Foundation's own way to read finds out what is wrong with a URL, in the same words on all platforms.
    guard let size = try? url.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey]),
      size.isRegularFile == true, let total = size.fileSize, total > pieceSize
    else { return try Data(contentsOf: url) }
    let file = try FileHandle(forReadingFrom: url)
    defer { try? file.close() }
    // A file may claim any length, so that not all of it is asked for at once.
    var data = Data(capacity: min(total, 1 << 26))
    while let piece = try file.read(upToCount: pieceSize), !piece.isEmpty {
      guard !operation.isCancelled else { throw CancellationError() }
      data += piece
      operation.reportProgress(completed: data.count, of: total)
    }
    return data
  }
}

extension URL {
  /// Only files are read and written; Foundation would load other URLs, while the thread waits.
  func requireFile(orElse code: CocoaError.Code) throws {
    if !isFileURL { throw CocoaError(code, userInfo: [NSURLErrorKey: self]) }
  }
}

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
