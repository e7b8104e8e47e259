/// Bodies packed with gzip, as servers send them, good and bad.
public enum Gzip {
  /// The bytes as they are, with what gzip puts around them.
  public static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var packed = head
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xFFFF)
      rest = rest.dropFirst(block.count)
      packed.append(rest.isEmpty ? 1 : 0)
      packed += littleEndian(UInt16(block.count)) + littleEndian(~UInt16(block.count)) + block
    } while !rest.isEmpty
    return packed + littleEndian(checksum(of: bytes)) + littleEndian(UInt32(truncatingIfNeeded: bytes.count))
  }

  /// At least this many zero bytes, compressed to 1/158. The end is missing: a reader that reaches
  /// it has read too much.
  public static func zeros(byteCount: Int) -> [UInt8] {
    var bits = BitWriter()
    // One block with fixed codes, which is not the last: a zero, then “258 times what was one byte
    // before”.
    bits.append(0b010, count: 3)
    bits.appendCode(0x30, count: 8)
    for _ in 0..<(byteCount / 258 + 1) {
      bits.appendCode(0xC5, count: 8)
      bits.appendCode(0, count: 5)
    }
    return head + bits.bytes
  }

  private static let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]

  private static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian, Array.init)
  }

  private static func checksum(of bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in (sum >> 1) ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
  }

  private struct BitWriter {
    var bytes: [UInt8] = []
    private var bitCount = 0

    /// Numbers begin with their lowest bit.
    mutating func append(_ value: Int, count: Int) {
      for index in 0..<count { append(value >> index & 1 == 1) }
    }

    /// Codes begin with their highest bit.
    mutating func appendCode(_ code: Int, count: Int) {
      for index in (0..<count).reversed() { append(code >> index & 1 == 1) }
    }

    private mutating func append(_ bit: Bool) {
      if bitCount % 8 == 0 { bytes.append(0) }
      if bit { bytes[bytes.count - 1] |= 1 << UInt8(bitCount % 8) }
      bitCount += 1
    }
  }
}
