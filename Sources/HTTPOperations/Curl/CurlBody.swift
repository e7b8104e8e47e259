#if os(Linux) || os(Android)
import Foundation

/// The body of an answer: takes it piece by piece, unpacks it, and passes it on.
final class CurlBody: @unchecked Sendable {  // used on one queue: of the connections, or of its file
  private let unpacker: BodyUnpacker?
  private let pass: (Data) -> Bool
  /// What is wrong with the body, or that no more of it is wanted.
  private(set) var end: HTTPHopEnd?

  /// - Parameters:
  ///   - unpacker: undoes its codings, if it has any.
  ///   - pass: takes the unpacked pieces. Returns false if no more is wanted.
  init(_ unpacker: BodyUnpacker?, pass: @escaping (Data) -> Bool) {
    self.unpacker = unpacker
    self.pass = pass
  }

  /// Whether it has ended, as far as its codings say.
  var isWhole: Bool { unpacker?.isWhole ?? true }

  private struct Enough: Error {}

  /// Takes a piece. Returns how the hop has to end; nil if it goes on.
  func take(_ bytes: UnsafeRawBufferPointer) -> HTTPHopEnd? {
    if end != nil { return end }
    do {
      if let unpacker {
        try unpacker.unpack(bytes, passOn)
      } else {
        try passOn(bytes)
      }
    } catch is BodyUnpacker.Damaged {
      end = .failed(.malformedAnswer, "its packed body is damaged")
    } catch is BodyUnpacker.TooLarge {
      end = .failed(.bodyTooLarge, "what is packed in it is packed again, and grows beyond measure")
    } catch {
      end = .stopped
    }
    return end
  }

  private func passOn(_ bytes: UnsafeRawBufferPointer) throws {
    if !pass(Data(bytes)) { throw Enough() }
  }
}
#endif
