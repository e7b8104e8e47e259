public import Foundation

/// What travels with a request: only itself, a body to upload, or a file to download.
public enum HTTPTransfer: Sendable {
  /// Keeps the body of the answer in memory. A body to send is the request's `httpBody`.
  case data
  /// Sends a body, and keeps the body of the answer in memory. The progress is that of the upload.
  case upload(HTTPUpload)
  /// Writes the body of the answer to a file as it comes, so that it is never in memory as a whole.
  ///
  /// The file appears complete, when all of it has come, with the folders that it needs, and
  /// replaces a file that was there. Until then the bytes are in a file next to it whose name ends
  /// in `.part`, which is removed if the download fails or is cancelled. If the status is not
  /// accepted, the file stays as it was.
  ///
  /// A link stays, and the file that it leads to is replaced. A download to a folder, a device, a
  /// pipe or a socket fails with ``HTTPError/Code/unwritableFile``.
  case download(to: URL)
}

/// A body to upload.
public enum HTTPUpload: Sendable {
  /// Bytes from memory.
  case data(Data)
  /// The bytes of a file, which is read while they are sent. Do not change the file until the
  /// operation has settled.
  case file(URL)
}
