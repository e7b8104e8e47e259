public import CompositeOperations
public import Foundation

/// A step that reads the file at a URL.
///
/// It reads the file on the thread of the operation, piece by piece, so it reports its progress,
/// and stops soon when it is cancelled. With reading options it reads the file in one go.
///
/// It reads a pipe or a device to its end, too, without progress. While nothing comes from there, a
/// cancel waits: until the next 256 KiB have come, or the end.
///
/// It fails with Foundation's error, such as `CocoaError.fileReadNoSuchFile`. A URL that does not
/// name a file is `CocoaError.fileReadUnsupportedScheme`; use ``LoadURL`` for those.
public struct LoadFile: PipelineStep {
  private static let pieceSize = 256 * 1024

  private let options: Data.ReadingOptions

  /// Makes the step.
  ///
  /// - Parameter options: how to read the file, for example by mapping it into memory.
  public init(options: Data.ReadingOptions = []) {
    self.options = options
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for url: URL) -> SimpleOperation<Data> {
    SimpleOperation { operation in
      do {
        // Foundation would load other URLs, and block the thread meanwhile.
        if !url.isFileURL { throw CocoaError(.fileReadUnsupportedScheme, userInfo: [NSURLErrorKey: url]) }
        operation.finish(
          with: options.isEmpty ? try LoadFile.read(url, operation) : try Data(contentsOf: url, options: options))
      } catch {
        operation.reject(with: error)
      }
    }
  }

  private static func read(_ url: URL, _ operation: SettlingOperation) throws -> Data {
    // For folders, small files and what is missing, Foundation's own function gives the same errors
    // on all platforms. The values are those of a link itself, unless that is resolved.
    let keys: Set<URLResourceKey> = [.fileSizeKey, .isDirectoryKey, .isRegularFileKey]
    guard let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: keys), values.isDirectory != true
    else { return try Data(contentsOf: url) }
    // What is no regular file, such as a pipe, has no size, and may have no end.
    let total = values.isRegularFile == true ? values.fileSize ?? 0 : nil
    if let total, total <= pieceSize { return try Data(contentsOf: url) }
    let file = try FileHandle(forReadingFrom: url)
    defer { try? file.close() }
    // A file may claim any length, so the memory for it is not allocated at once.
    var data = Data(capacity: min(total ?? 0, 1 << 26))
    while let piece = try file.read(upToCount: pieceSize), !piece.isEmpty {
      guard !operation.isCancelled else { throw CancellationError() }
      data += piece
      if let total { operation.reportProgress(completed: data.count, of: total) }
    }
    return data
  }
}

/// A step that writes its input to a file, and passes it on.
///
/// It writes the whole file or nothing: the data goes to another file, which then takes the place
/// of this one. A link stays, and the file that it leads to is replaced. It makes missing folders.
/// Every error is a failure of the step, with Foundation's error, and leaves what was there.
/// Writing to a folder, a device, a pipe or a socket is an error. If the operation is cancelled
/// before it writes, it writes nothing and makes no folder.
public struct WriteFile: PipelineStep {
  private let url: @Sendable (Data) throws -> URL

  /// Makes a step that writes to one file.
  public init(to url: URL) {
    self.url = { _ in url }
  }

  /// Makes a step that writes to a file that depends on the data.
  ///
  /// - Parameter url: names the file. Called as part of the work of the operation; what it throws
  ///   is the failure of the step.
  public init(to url: @escaping @Sendable (Data) throws -> URL) {
    self.url = url
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for data: Data) -> SimpleOperation<Data> {
    SimpleOperation { operation in
      do {
        let url = try FileTarget.ofNewFile(url(data))
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
