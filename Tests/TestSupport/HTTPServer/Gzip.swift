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
    for _ in 0..<16 {
      bits.appendCode(0xC5, count: 8)
      bits.appendCode(0, count: 5)
    }
    // Eight times these are 13 bytes, which come again and again.
    let again = Array(bits.bytes[2..<15])
    var packed = head + bits.bytes[..<2]
    for _ in 0..<(byteCount / (8 * 258) + 1) { packed += again }
    return packed
  }

  private static let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]

  private static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian, Array.init)
  }

  /// The change of a checksum by each byte.
  private static let changes: [UInt32] = (0..<256).map { (byte: UInt32) -> UInt32 in
    (0..<8).reduce(byte) { (sum: UInt32, _) -> UInt32 in
      let half = sum >> 1
      return sum & 1 == 1 ? half ^ 0xEDB8_8320 : half
    }
  }

  private static func checksum(of bytes: [UInt8]) -> UInt32 {
    let changes = changes
    var sum = ~UInt32(0)
    for byte in bytes { sum = changes[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ (sum >> 8) }
    return ~sum
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
