#if os(Linux) || os(Android)
import CompositeOperationsCurl
import Foundation

/// Undoes the content codings of a body, piece by piece, and knows whether the body was whole.
///
/// libcurl could do it, but does not check the end of a packed body, and would accept one that is
/// cut short.
final class BodyUnpacker {
  /// The packed bytes contradict themselves.
  struct Damaged: Error {}
  /// The output between two codings is out of proportion.
  struct TooLarge: Error {}

  /// One coding. A stream ends where it says so; gzip may have another one behind that.
  private final class Stage {
    private let format: Format
    private var stream: UnsafeMutableRawPointer
    private(set) var isAtEnd = false
    private var hasBegun = false
    /// Read before it was known which of the two formats of “deflate” it is.
    private var firstByte: UInt8?
    private var membersWithoutBytes = 0
    private(set) var taken = 0
    private(set) var given = 0

    init?(_ format: Format) {
      guard let stream = composite_operations_zlib_open(false) else { return nil }
      self.format = format
      self.stream = stream
    }

    deinit {
      composite_operations_zlib_close(stream)
    }

    func unpack(
      _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer,
      _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
      var rest = input
      while !rest.isEmpty {
        if isAtEnd {
          // What follows the end of a body is another member of it, or padding.
          guard format == .gzip, rest[0] == 0x1F else { return }
          // Members without content would delay the other requests.
          membersWithoutBytes += 1
          guard membersWithoutBytes <= BodyUnpacker.mostEmptyMembers else { throw Damaged() }
          _ = composite_operations_zlib_restart(stream)
          isAtEnd = false
        }
        var (used, written) = (0, 0)
        var result = advance(rest, room, &used, &written)
        if result < 0, format == .deflate, !hasBegun, let raw = composite_operations_zlib_open(true) {
          // By the standard “deflate” has a header of zlib; some servers leave that out.
          composite_operations_zlib_close(stream)
          stream = raw
          if let firstByte { withUnsafeBytes(of: firstByte) { _ = advance($0, room, &used, &written) } }
          result = advance(rest, room, &used, &written)
        }
        guard result >= 0 else { throw Damaged() }
        // The first byte alone does not say which of the two it is.
        if used > 1 || firstByte != nil || written > 0 || result == 1 { hasBegun = true }
        if used == 1, !hasBegun { firstByte = rest[0] }
        isAtEnd = result == 1
        taken += used
        given += written
        if written > 0 { membersWithoutBytes = 0 }
        // Also if it is nothing: the receiver may want no more.
        try body(UnsafeRawBufferPointer(rebasing: room[..<written]))
        if used == 0, written == 0, !isAtEnd { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[used...])
        // There may be more to come of what it has taken in.
        if rest.isEmpty, written == room.count, !isAtEnd { try drain(into: room, body) }
      }
    }

    private func drain(
      into room: UnsafeMutableRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
      while true {
        var (used, written) = (0, 0)
        let result = advance(UnsafeRawBufferPointer(start: nil, count: 0), room, &used, &written)
        guard result >= 0 else { throw Damaged() }
        isAtEnd = result == 1
        given += written
        if written > 0 { try body(UnsafeRawBufferPointer(rebasing: room[..<written])) }
        if written < room.count || isAtEnd { return }
      }
    }

    private func advance(
      _ input: UnsafeRawBufferPointer, _ room: UnsafeMutableRawBufferPointer, _ used: inout Int, _ written: inout Int
    ) -> Int32 {
      composite_operations_zlib_unpack(
        stream, input.baseAddress?.assumingMemoryBound(to: UInt8.self), input.count, &used,
        room.baseAddress!.assumingMemoryBound(to: UInt8.self), room.count, &written)
    }
  }

  private enum Format {
    case gzip, deflate
  }

  /// The codings that can be unpacked, to ask for. Nil if zlib was not found.
  static let acceptedCodings: String? = composite_operations_zlib_load() ? "gzip, deflate" : nil
  /// More codings than servers use, and fewer than would delay other requests.
  static let mostCodings = 2
  /// How many members of a stream without content may follow each other.
  static let mostEmptyMembers = 16
  /// How many times larger the output between two codings may be than the input, beside a mebibyte.
  private static let mostGrowth = 64

  private let stages: [Stage]
  private let rooms: [UnsafeMutableRawBufferPointer]

  /// Nil if there is no coding, or one that was not asked for. Then the body stays as it is.
  ///
  /// - Parameter codings: the value of `Content-Encoding`.
  /// - Throws: ``Damaged`` if there are too many.
  init?(_ codings: String) throws {
    guard BodyUnpacker.acceptedCodings != nil else { return nil }
    let names = codings.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
      .filter { $0 != "identity" && !$0.isEmpty }
    guard names.count <= BodyUnpacker.mostCodings else { throw Damaged() }
    // The last coding was applied last.
    let formats = names.reversed().map { name -> Format? in
      switch name {
      case "gzip", "x-gzip": .gzip
      case "deflate": .deflate
      default: nil
      }
    }
    let stages = formats.compactMap { $0.flatMap(Stage.init) }
    guard !stages.isEmpty, stages.count == formats.count else { return nil }
    self.stages = stages
    rooms = stages.map { _ in .allocate(byteCount: 1 << 16, alignment: 16) }
  }

  deinit {
    for room in rooms { room.deallocate() }
  }

  /// Unpacks a piece of the body.
  ///
  /// - Parameter body: called with each unpacked piece. What it throws ends the unpacking.
  func unpack(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try unpack(bytes, at: 0, body)
  }

  private func unpack(
    _ bytes: UnsafeRawBufferPointer, at index: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard index < stages.count, !bytes.isEmpty else { return try body(bytes) }
    let stage = stages[index], isLast = index == stages.count - 1
    try stage.unpack(bytes, into: rooms[index]) { unpacked in
      if !isLast, stage.given > 1 << 20 + stage.taken * Self.mostGrowth { throw TooLarge() }
      try unpack(unpacked, at: index + 1, body)
    }
  }

  /// Whether the body has come to its end; true as well if there was none at all.
  var isWhole: Bool {
    stages.allSatisfy { $0.taken == 0 || $0.isAtEnd }
  }
}
#endif
