import Foundation

/// A pipe into which nothing is written: its end shows that this process has ended, or wants the
/// other to end.
///
/// As with ``LinePipe``, no other process inherits it.
final class InputPipe: Sendable {
  /// What to read. To be closed when the process has it.
  let output: FileHandle
  private let input: FileHandle

  /// - Parameter path: where its name is. There must be nothing yet.
  init(path: String) throws(LinePipe.Failure) {
    guard mkfifo(path, 0o600) == 0 else { throw LinePipe.Failure(code: errno) }
    // Without waiting for a writer, which comes next.
    let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let writer = open(path, O_WRONLY | O_CLOEXEC)
    guard reader >= 0, writer >= 0 else { throw LinePipe.Failure(code: errno) }
    _ = fcntl(reader, F_SETFL, fcntl(reader, F_GETFL) & ~O_NONBLOCK)
    output = FileHandle(fileDescriptor: reader, closeOnDealloc: true)
    input = FileHandle(fileDescriptor: writer, closeOnDealloc: true)
  }

  func end() {
    try? input.close()
  }
}
