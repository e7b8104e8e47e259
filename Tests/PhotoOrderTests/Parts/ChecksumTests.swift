import ExampleSupport
import Testing

@testable import PhotoOrder

@Suite struct ChecksumTests {
  /// The examples of FIPS 180-4 and of NIST's test vectors.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
  ])
  func text_hasThePublishedChecksum(_ text: String, _ checksum: String) {
    #expect(SHA256.hex(of: text.utf8) == checksum)
  }

  @Test func aMillionTimesA_hasThePublishedChecksum() {
    var checksum = SHA256()
    for _ in 0..<1_000 { checksum.add([UInt8](repeating: UInt8(ascii: "a"), count: 1_000)) }
    #expect(checksum.finish() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test func pieces_ofAnyLength_makeNoDifference() {
    let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 * 7) }
    let whole = SHA256.hex(of: bytes)
    for length in 1...130 {
      var checksum = SHA256()
      for start in stride(from: 0, to: bytes.count, by: length) {
        checksum.add(Array(bytes[start..<min(start + length, bytes.count)]))
      }
      #expect(checksum.finish() == whole)
    }
  }

  @Test func lengths_aroundABlock_areAllDifferent() {
    let checksums = (0...130).map { SHA256.hex(of: [UInt8](repeating: 0, count: $0)) }
    #expect(Set(checksums).count == checksums.count)
    #expect(checksums[64] == "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b")
  }
}
