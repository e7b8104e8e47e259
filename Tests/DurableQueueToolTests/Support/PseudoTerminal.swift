#if os(macOS) || os(Linux)
import Foundation

// Glibc has them, but its module does not export them.
@_silgen_name("posix_openpt") private func openTerminal(_ flags: Int32) -> Int32
@_silgen_name("grantpt") private func grantTerminal(_ master: Int32) -> Int32
@_silgen_name("unlockpt") private func unlockTerminal(_ master: Int32) -> Int32
@_silgen_name("ptsname") private func nameOfTerminal(_ master: Int32) -> UnsafePointer<CChar>?

/// A terminal without a window.
final class PseudoTerminal: Sendable {
  struct Failure: Error {}

  /// What a program reads from and writes to.
  let handle: FileHandle
  private let master: Int32

  init() throws {
    master = openTerminal(O_RDWR | O_NOCTTY)
    guard master >= 0, grantTerminal(master) == 0, unlockTerminal(master) == 0, let name = nameOfTerminal(master),
      case let terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), terminal >= 0
    else { throw Failure() }
    handle = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
  }

  deinit {
    close(master)
  }

  /// Presses keys. A program reads them when it comes to it.
  func type(_ text: String) {
    let bytes = Array(text.utf8)
    var count = 0
    while count < bytes.count {
      count += bytes.withUnsafeBytes { max(0, write(master, $0.baseAddress! + count, $0.count - count)) }
    }
  }

  /// Everything written so far, by the program and by the user.
  func screen() -> String {
    var screen: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
    while case let count = read(master, &part, part.count), count > 0 { screen += part.prefix(count) }
    return String(decoding: screen, as: UTF8.self).replacing("\r\n", with: "\n")
  }
}
#endif
