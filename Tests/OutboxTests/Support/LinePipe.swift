import Foundation

/// A pipe that reports each line that is written into it.
///
/// No other process inherits it: a server that was started meanwhile would keep the end from
/// coming.
struct LinePipe {
  struct Failure: Error {
    let code: Int32
  }

  /// Where to write. To be closed when the process has it.
  let input: FileHandle

  /// Makes a pipe with a name: a process that starts before a nameless one can be marked would
  /// inherit it.
  ///
  /// - Parameters:
  ///   - path: the path of the name. It must not exist yet.
  ///   - tell: receives each line, and nil at the end. One call at a time.
  init(path: String, _ tell: @escaping @Sendable (String?) -> Void) throws(Failure) {
    guard mkfifo(path, 0o600) == 0 else { throw Failure(code: errno) }
    // Without waiting for a writer, which comes next.
    let output = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    guard output >= 0, descriptor >= 0 else { throw Failure(code: errno) }
    input = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    _ = fcntl(output, F_SETFL, fcntl(output, F_GETFL) & ~O_NONBLOCK)
    // A thread, for Dispatch sources on Linux can crash when many descriptors come and go.
    let thread = Thread {
      Self.readLines(of: output, tell)
      close(output)
      tell(nil)
    }
    thread.start()
  }

  private static func readLines(of descriptor: Int32, _ tell: (String?) -> Void) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    var rest: [UInt8] = []
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest += buffer[..<count]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        tell(String(decoding: rest[..<end], as: UTF8.self))
        rest.removeFirst(end + 1)
      }
    }
  }
}
