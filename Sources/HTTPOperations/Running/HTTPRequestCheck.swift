import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What is wrong with a request before it is made. Some of it would be sent all the same, or end the process.
enum HTTPRequestCheck {
  static func mistake(in state: HTTPExchangeState) -> HTTPError? {
    let request = state.request
    guard let url = request.url, url.isWebAddress else { return HTTPError(.invalidURL, url: request.url) }
    for (name, value) in request.allHTTPHeaderFields ?? [:] where (name + value).contains(where: \.isNewline) {
      return HTTPError(.invalidRequest, url: url, detail: "its header field \(name) has a line break in it")
    }
    let method = request.httpMethod ?? "GET"
    if method.contains(where: { $0.isNewline || $0.isWhitespace }) {
      return HTTPError(.invalidRequest, url: url, detail: "its method has a space or a line break in it")
    }
    let hasBody = state.upload != nil || request.httpBody != nil || request.httpBodyStream != nil
    if hasBody, method == "GET" || method == "HEAD" {
      return HTTPError(.invalidRequest, url: url, detail: "it has a body, but its method is \(method)")
    }
    if case .file(let file)? = state.upload { return mistake(in: file) }
    return nil
  }

  private static func mistake(in file: URL) -> HTTPError? {
    var isFolder: ObjCBool = false
    guard file.isFileURL, FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder) else {
      return HTTPError(.unreadableFile, url: file, detail: "there is none")
    }
    if isFolder.boolValue { return HTTPError(.unreadableFile, url: file, detail: "it is a folder") }
    let type = try? FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)[.type]
    if type as? FileAttributeType != .typeRegular {
      return HTTPError(.unreadableFile, url: file, detail: "it is a device or a pipe, whose length is not known")
    }
    if !FileManager.default.isReadableFile(atPath: file.path) {
      return HTTPError(.unreadableFile, url: file, detail: "reading it is not permitted")
    }
    return nil
  }
}
