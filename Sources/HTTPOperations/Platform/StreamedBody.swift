#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// A body that is sent as a stream, and says its length.
struct StreamedBody {
  let length: Int
  private let upload: HTTPUpload

  /// Nil if there is no body, or the request brings a stream of its own.
  init?(of request: URLRequest, uploading upload: HTTPUpload?) {
    guard let upload = upload ?? request.httpBody.map({ .data($0) }) else { return nil }
    self.upload = upload
    switch upload {
    case .data(let data): length = data.count
    case .file(let file):
      length = HTTPUpload.length(of: file) ?? 0
    }
  }

  func stream() -> InputStream? {
    switch upload {
    case .data(let data): InputStream(data: data)
    case .file(let file): InputStream(url: file)
    }
  }

  func request(from request: URLRequest) -> URLRequest {
    var request = request
    request.httpBody = nil
    guard length > 0 else { return request }
    request.httpBodyStream = stream()
    request.setValue("\(length)", forHTTPHeaderField: "Content-Length")
    request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
    return request
  }
}
#endif
