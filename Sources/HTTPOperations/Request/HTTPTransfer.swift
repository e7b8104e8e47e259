public import Foundation

/// What travels with a request: nothing but itself, a body to upload, or a file to download.
public enum HTTPTransfer: Sendable {
  /// The answer's body is kept in memory. A body to send is the request's `httpBody`.
  case data
  /// A body is sent, and the answer's body kept in memory. The progress is that of the upload.
  case upload(HTTPUpload)
  /// The answer's body is written to a file as it comes, and is never in memory as a whole.
  ///
  /// The file appears at once and complete, when all of it has come, with the folders that it needs, and replaces one that
  /// was there. Until then the bytes are in a file next to it whose name ends in `.part`, which goes if the download fails
  /// or is cancelled. If the status is not accepted, the file stays as it was.
  case download(to: URL)
}

/// A body to upload.
public enum HTTPUpload: Sendable {
  /// Bytes from memory.
  case data(Data)
  /// The bytes of a file, which are read while they are sent. Do not change the file until the operation has settled.
  case file(URL)
}
