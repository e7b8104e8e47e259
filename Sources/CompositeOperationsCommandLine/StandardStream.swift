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
  package struct Failure: Error, Equatable, CustomStringConvertible {
    let code: Int32

    /// Whether nobody reads any more, which is nobody's mistake: `| head` has seen enough.
    package var isBrokenPipe: Bool { code == EPIPE }

    package var description: String {
      "The output can not be written (\(String(cString: strerror(code)))). Check where it goes."
    }
  }

  /// Has writing fail when nobody reads any more, instead of ending the process.
  package static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// Writes all of a text, and returns when that is done.
  package func write(_ text: String) throws(Failure) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let (count, code) = bytes.withUnsafeBytes { buffer in
        let count = writeBytes(buffer, to: rawValue)
        return (count, errno)
      }
      if count >= 0 {
        bytes.removeFirst(count)
      } else if code == EAGAIN || code == EWOULDBLOCK {
        // Somebody made it one that does not wait.
        var ready = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, -1)
      } else if code != EINTR {
        throw Failure(code: code)
      }
    }
  }

  /// Whether a person can be asked: on the standard error output, as the standard output may be read by a program, with the answer
  /// on the standard input.
  package static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(error.rawValue) == 1 }

  /// How many characters a line of it may have: the width of the window on a terminal; nil where it is none.
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
