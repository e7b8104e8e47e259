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

  // Each returns whether the library knows the option, and takes the value.

  @discardableResult
  func set(_ option: Int32, _ value: Int) -> Bool {
    composite_operations_curl_easy_set_long(pointer, option, value) == 0
  }

  @discardableResult
  func set(_ option: Int32, _ value: String) -> Bool {
    composite_operations_curl_easy_set_text(pointer, option, value) == 0
  }

  @discardableResult
  func setSize(_ option: Int32, _ value: Int) -> Bool {
    composite_operations_curl_easy_set_size(pointer, option, Int64(value)) == 0
  }

  @discardableResult
  func setPointer(_ option: Int32, _ value: UnsafeMutableRawPointer?) -> Bool {
    composite_operations_curl_easy_set_pointer(pointer, option, value) == 0
  }

  @discardableResult
  func setBytes(_ option: Int32, _ function: CompositeOperationsCurlBytes) -> Bool {
    composite_operations_curl_easy_set_bytes(pointer, option, function) == 0
  }

  @discardableResult
  func setLookup(_ function: CompositeOperationsCurlLookup) -> Bool {
    composite_operations_curl_easy_set_lookup(pointer, function) == 0
  }

  @discardableResult
  func setSocket(_ function: CompositeOperationsCurlSocketSetup) -> Bool {
    composite_operations_curl_easy_set_socket(pointer, function) == 0
  }

  @discardableResult
  func setRequest(_ function: CompositeOperationsCurlRequest) -> Bool {
    composite_operations_curl_easy_set_request(pointer, function) == 0
  }

  @discardableResult
  func setSeek(_ function: CompositeOperationsCurlSeek) -> Bool {
    composite_operations_curl_easy_set_seek(pointer, function) == 0
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
