import ExampleSupport
import Foundation

/// A key that does something.
enum Key: Equatable, Sendable {
  case up, down, enter, quit
  /// Chooses the task at this place, from 0.
  case choose(Int)
  /// Does something to the chosen task.
  case act(Command.Action)
  /// Does something to all tasks.
  case actOnAll(Command.Action)
  /// Holds the chosen task, or lets it go on.
  case hold
}

/// Makes keys of the bytes that a terminal sends.
struct KeyDecoder {
  private enum State {
    case text, escape, sequence
  }

  private var state = State.text

  /// The keys in the next bytes. A sequence may come in parts.
  mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
    bytes.compactMap { decode($0) }
  }

  private mutating func decode(_ byte: UInt8) -> Key? {
    switch state {
    case .text:
      guard byte == 0x1B else { return key(for: Character(UnicodeScalar(byte))) }
      state = .escape
      return nil
    case .escape:
      switch byte {
      case UInt8(ascii: "["), UInt8(ascii: "O"): state = .sequence
      case 0x1B: break
      default:
        // Esc by itself, and then a key.
        state = .text
        return key(for: Character(UnicodeScalar(byte)))
      }
      return nil
    case .sequence:
      // Numbers and semicolons come before the letter that ends it.
      guard (0x40...0x7E).contains(byte) else { return nil }
      state = .text
      switch byte {
      case UInt8(ascii: "A"): return .up
      case UInt8(ascii: "B"): return .down
      default: return nil
      }
    }
  }

  private func key(for character: Character) -> Key? {
    switch character {
    case "k": .up
    case "j": .down
    case "\n", "\r": .enter
    case "q", "\u{4}": .quit
    case "1"..."9": .choose((character.wholeNumberValue ?? 1) - 1)
    case "s": .act(.start)
    case "f": .act(.fulfill)
    case "n": .act(.reject)
    case "c": .act(.cancel)
    case "r": .act(.retry)
    case "x": .act(.reset)
    case "h": .hold
    case "S": .actOnAll(.start)
    case "C": .actOnAll(.cancel)
    case "R": .actOnAll(.retry)
    case "X": .actOnAll(.reset)
    default: nil
    }
  }
}

/// Reads the keyboard.
final class Keyboard: @unchecked Sendable {  // `source` is a constant and thread-safe
  private let source: any DispatchSourceRead

  /// - Parameters:
  ///   - press: called with each key.
  ///   - end: called when the terminal is gone.
  init(press: @escaping @Sendable (Key) -> Void, end: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: DispatchQueue(label: "Keyboard"))
    let decoder = Shared(KeyDecoder())
    source.setEventHandler { [source] in
      var bytes = [UInt8](repeating: 0, count: 256)
      let count = read(STDIN_FILENO, &bytes, bytes.count)
      if count < 0, errno == EINTR || errno == EAGAIN { return }
      guard count > 0 else {
        source.cancel()
        end()
        return
      }
      for key in decoder.withLock({ $0.decode(bytes[..<count]) }) { press(key) }
    }
    source.activate()
  }

  func close() {
    source.setEventHandler {}
    source.cancel()
  }
}
