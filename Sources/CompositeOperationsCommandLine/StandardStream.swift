import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The standard output, or the standard error output.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Text could not be written.
  package struct Failure: Error, Equatable, LocalizedError, CustomStringConvertible {
    let code: Int32

    /// Whether the reader has closed its end, which is not an error: `| head` has seen enough.
    package var isBrokenPipe: Bool { code == EPIPE }

    package var description: String {
      "The output cannot be written (\(String(cString: strerror(code)))). Check where it goes."
    }

    package var errorDescription: String? { description }
  }

  /// Makes writing to a pipe without a reader fail, instead of ending the process.
  package static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// Writes a text, and returns when all of it is written.
  package func write(_ text: String) throws(Failure) {
    try Self.write(text, to: rawValue)
  }

  /// Writes a text as far as it is read: a reader that closes its end has seen enough.
  package func print(_ text: String) throws(Failure) {
    do { try write(text) } catch { if !error.isBrokenPipe { throw error } }
  }

  /// Writes a text to a descriptor, which may be another than that of a standard stream.
  package static func write(_ text: String, to descriptor: Int32) throws(Failure) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let (count, code) = bytes.withUnsafeBytes { buffer in
        let count = writeBytes(buffer, to: descriptor)
        return (count, errno)
      }
      if count >= 0 {
        bytes.removeFirst(count)
      } else if code == EAGAIN || code == EWOULDBLOCK {
        // The stream does not block. Another process may have set that.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, -1)
      } else if code != EINTR {
        throw Failure(code: code)
      }
    }
  }

  /// Whether the program can ask a person: on the standard error output, for a program may read the
  /// standard output, with the answer on the standard input.
  package static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(error.rawValue) == 1 }

  /// The number of characters in a line: the width of the terminal; nil if the stream is not a
  /// terminal.
  package var terminalWidth: Int? {
    guard isatty(rawValue) == 1 else { return nil }
    var size = winsize()
    let isKnown = ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return isKnown ? Int(size.ws_col) : 80
  }
}

/// The system's `write`, whose name means something else inside of ``StandardStream``.
private func writeBytes(_ buffer: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
  write(descriptor, buffer.baseAddress, buffer.count)
}
