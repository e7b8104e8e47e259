import Testing

@testable import PhotoOrder

@Suite struct KeyDecoderTests {
  @Test(arguments: [
    ("jk", [Key.down, .up]),
    ("\u{1B}[A\u{1B}[B\u{1B}OA\u{1B}OB", [.up, .down, .up, .down]),
    ("19", [.choose(0), .choose(8)]),
    ("\r\n", [.enter, .enter]),
    ("sfncrx", [.act(.start), .act(.fulfill), .act(.reject), .act(.cancel), .act(.retry), .act(.reset)]),
    ("SCRX", [.actOnAll(.start), .actOnAll(.cancel), .actOnAll(.retry), .actOnAll(.reset)]),
    ("hq\u{4}", [.hold, .quit, .quit]),
    // Keys that mean nothing here: left, Delete, Shift-Up and F5, a letter with an accent, 0.
    ("\u{1B}[D\u{1B}[3~\u{1B}[1;2C\u{1B}[15~é0", []),
    // Esc by itself, and then a key.
    ("\u{1B}q", [.quit]),
    ("\u{1B}\u{1B}[A", [.up]),
  ])
  func bytes_areKeys_inHoweverManyParts(_ text: String, _ keys: [Key]) {
    var whole = KeyDecoder()
    #expect(whole.decode(Array(text.utf8)) == keys)
    var parts = KeyDecoder()
    #expect(text.utf8.flatMap { parts.decode([$0]) } == keys)
  }
}
