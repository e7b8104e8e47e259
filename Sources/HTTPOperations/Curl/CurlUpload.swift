#if os(Linux) || os(Android)
import CompositeOperations
import Foundation
import FoundationNetworking

/// A body that is sent piece by piece, and can be sent again from its beginning.
///
/// Files and streams are read on their own queue, one piece ahead of what is sent.
final class CurlUpload: @unchecked Sendable {  // touched on the connections' queue alone
  enum Given {
    /// A number of bytes; 0 at the end.
    case bytes(Int)
    /// None yet. `whenReady` is called when there are some.
    case later
    case failed(any Error)
  }

  /// Nil if it is not known.
  let length: Int?
  /// Whether it may be sent: no other request has its stream.
  let isOwn: Bool
  /// How many bytes were given.
  private(set) var offset = 0
  /// Called on the connections' queue.
  var whenReady: (@Sendable () -> Void)?

  private let data: Data?
  private let reader: CurlBodyReader?
  private let queue: DispatchQueue

  /// What was read, and has not been given: the piece that is being sent, and the next one.
  private var piece = Data()
  private var next: Data?
  /// Where the reader reads next.
  private var place = 0
  private var isReading = false
  private var isWaiting = false
  private var isAtEnd = false
  private var failure: (any Error)?
  /// How often it began again. What was read before is not wanted.
  private var round = 0

  /// The file of the body; nil for bytes and streams.
  var file: URL? { reader?.file }

  /// Nil if there is no body.
  ///
  /// - Parameter queue: the queue of the connections.
  init?(of request: URLRequest, uploading upload: HTTPUpload?, on queue: DispatchQueue) {
    self.queue = queue
    switch upload ?? request.httpBody.map({ .data($0) }) {
    case .data(let data):
      (self.data, reader, isOwn) = (data, nil, true)
      length = data.count
    case .file(let file):
      length = HTTPUpload.length(of: file)
      (data, reader, isOwn) = (nil, CurlBodyReader(.file(file, nil), length: length), true)
    case nil:
      guard let stream = request.httpBodyStream else { return nil }
      length = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) }
      isOwn = HTTPRequestCheck.take(stream)
      // What it does not have it does not close.
      (data, reader) = (nil, isOwn ? CurlBodyReader(.stream(stream), length: length) : nil)
    }
  }

  deinit {
    // A read may be under way.
    if let reader { reader.disk.add { reader.close() } }
  }

  /// Fills the room with the next bytes.
  func read(into room: UnsafeMutableRawBufferPointer) -> Given {
    if let data { return give(data.dropFirst(offset), to: room) }
    if piece.isEmpty, let next {
      piece = next
      self.next = nil
    }
    readAhead()
    if !piece.isEmpty {
      let given = give(piece, to: room)
      if case .bytes(let count) = given { piece = piece.dropFirst(count) }
      return given
    }
    if let failure { return .failed(failure) }
    if isAtEnd { return .bytes(0) }
    isWaiting = true
    return .later
  }

  private func give(_ data: Data, to room: UnsafeMutableRawBufferPointer) -> Given {
    let part = data.prefix(room.count)
    room.copyBytes(from: part)
    offset += part.count
    return .bytes(part.count)
  }

  /// Reads the next piece, unless there is one, or one is being read.
  func readAhead() {
    guard let reader, !isReading, next == nil, !isAtEnd, failure == nil else { return }
    isReading = true
    reader.disk.add { [queue, place, round, weak self] in
      let result = Result { try reader.read(at: place) }
      queue.async { [weak self] in self?.take(result, round) }
    }
  }

  private func take(_ result: Result<Data, any Error>, _ round: Int) {
    isReading = false
    if round == self.round {
      switch result {
      case .success(let data) where data.isEmpty: isAtEnd = true
      case .success(let data):
        next = data
        place += data.count
      case .failure(let error): failure = error
      }
    } else {
      readAhead()
    }
    if isWaiting, !isReading {
      isWaiting = false
      whenReady?()
    }
  }

  /// Goes to another offset. Returns false if that is not possible.
  func rewind(to offset: Int64) -> Bool {
    guard let offset = Int(exactly: offset), offset >= 0 else { return false }
    if offset == self.offset { return true }
    if let data {
      guard offset <= data.count else { return false }
    } else {
      guard file != nil else { return false }
      (place, piece, next, isAtEnd, failure) = (offset, Data(), nil, false, nil)
      round += 1
    }
    self.offset = offset
    return true
  }
}

/// A stream ended before its announced length: the server would wait for the rest.
private struct ShortStream: LocalizedError {
  let given: Int, length: Int
  var errorDescription: String? { "the body stream gave \(given) bytes, but the Content-Length is \(length)" }
}

/// Reads a file or a stream.
final class CurlBodyReader: @unchecked Sendable {  // but for constants touched on one queue alone
  enum Source {
    case file(URL, FileHandle?)
    case stream(InputStream)
  }

  private static let pieceSize = 1 << 17

  let disk = DiskQueue()
  let file: URL?
  private let length: Int?
  private var source: Source

  /// - Parameter length: how many bytes to read, if that is known.
  init(_ source: Source, length: Int?) {
    self.source = source
    self.length = length
    if case .file(let file, _) = source { self.file = file } else { file = nil }
  }

  /// The next bytes; none at the end.
  ///
  /// - Parameter place: the offset in the file. A stream continues.
  func read(at place: Int) throws -> Data {
    switch source {
    case .file(let file, let open):
      // No more than was announced, though the file may have grown.
      let most = min(Self.pieceSize, length.map { $0 - place } ?? Self.pieceSize)
      guard most > 0 else { return Data() }
      let handle = try open ?? FileHandle(forReadingFrom: file)
      source = .file(file, handle)
      try handle.seek(toOffset: UInt64(place))
      let data = try handle.read(upToCount: most) ?? Data()
      // The server would wait for the announced rest.
      if data.isEmpty, length != nil { throw CocoaError(.fileReadCorruptFile) }
      return data
    case .stream(let stream):
      let most = min(Self.pieceSize, length.map { $0 - place } ?? Self.pieceSize)
      guard most > 0 else { return Data() }
      if stream.streamStatus == .notOpen { stream.open() }
      var data = Data(count: most)
      let count = data.withUnsafeMutableBytes {
        stream.read($0.baseAddress!.assumingMemoryBound(to: UInt8.self), maxLength: $0.count)
      }
      // Foundation ends the process if it is asked for an error that is not there.
      if count < 0 { throw (stream.streamStatus == .error ? stream.streamError : nil) ?? POSIXError(.EIO) }
      if count == 0, let length { throw ShortStream(given: place, length: length) }
      return data.prefix(count)
    }
  }

  func close() {
    switch source {
    case .file(_, let handle): try? handle?.close()
    case .stream(let stream):
      stream.close()
      HTTPRequestCheck.release(stream)
    }
  }
}
#endif
