#if os(Linux) || os(Android)
import CompositeOperationsCurl

/// One transfer of libcurl: an easy handle and what belongs to it.
final class CurlHandle {
  let pointer: UnsafeMutableRawPointer
  private var lines: UnsafeMutableRawPointer?
  private let errorBuffer: UnsafeMutablePointer<CChar>
  private static let errorBufferSize = 256

  /// Nil if there is no memory.
  init?() {
    guard let pointer = composite_operations_curl_easy_init() else { return nil }
    self.pointer = pointer
    errorBuffer = .allocate(capacity: CurlHandle.errorBufferSize)
    errorBuffer.initialize(repeating: 0, count: CurlHandle.errorBufferSize)
    setPointer(CurlOption.errorBuffer, errorBuffer)
  }

  deinit {
    composite_operations_curl_easy_cleanup(pointer)
    composite_operations_curl_slist_free(lines)
    errorBuffer.deallocate()
  }

  /// The detailed error of libcurl; empty if there is none.
  var errorText: String { String(cString: errorBuffer) }

  func set(_ option: Int32, _ value: Int) {
    composite_operations_curl_easy_set_long(pointer, option, value)
  }

  /// Returns whether the library knows the option, and takes the value.
  @discardableResult
  func set(_ option: Int32, _ value: String) -> Bool {
    composite_operations_curl_easy_set_text(pointer, option, value) == 0
  }

  func setSize(_ option: Int32, _ value: Int) {
    composite_operations_curl_easy_set_size(pointer, option, Int64(value))
  }

  func setPointer(_ option: Int32, _ value: UnsafeMutableRawPointer?) {
    composite_operations_curl_easy_set_pointer(pointer, option, value)
  }

  func setBytes(_ option: Int32, _ function: CompositeOperationsCurlBytes) {
    composite_operations_curl_easy_set_bytes(pointer, option, function)
  }

  func setLookup(_ function: CompositeOperationsCurlLookup) {
    composite_operations_curl_easy_set_lookup(pointer, function)
  }

  func setSocket(_ function: CompositeOperationsCurlSocketSetup) {
    composite_operations_curl_easy_set_socket(pointer, function)
  }

  func setRequest(_ function: CompositeOperationsCurlRequest) {
    composite_operations_curl_easy_set_request(pointer, function)
  }

  func setSeek(_ function: CompositeOperationsCurlSeek) {
    composite_operations_curl_easy_set_seek(pointer, function)
  }

  /// Sets the lines of the header to send.
  func setHeader(_ added: [String]) {
    for line in added {
      if let longer = composite_operations_curl_slist_append(lines, line) { lines = longer }
    }
    setPointer(CurlOption.headerFields, lines)
  }
}
#endif
