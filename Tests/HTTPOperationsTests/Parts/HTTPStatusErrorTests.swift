import Foundation
import Testing

@testable import HTTPOperations

@Suite("HTTPStatusError: description") struct HTTPStatusErrorTests {
  private func text(_ body: Data) -> String {
    HTTPStatusError(url: URL(string: "http://host/x"), status: 500, body: body).description
  }

  private let start = "http://host/x answered with the status 500"

  @Test func description_hasNothingThatATerminalObeys() {
    let hostile = "\u{1B}[2J\u{9B}31m\u{202E}x\r\ny"
    let texts = [
      "\(HTTPStatusError(status: 500, body: Data("a\u{202E}b\u{2028}c".utf8)))",
      "\(HTTPError(.other, url: URL(string: "http://host/"), detail: hostile))",
      "\(HTTPError(.unreadableFile, url: URL(fileURLWithPath: "/tmp/\(hostile)")))",
    ]
    for text in texts {
      #expect(
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0.value != 0x202E },
        "\(text.debugDescription)")
    }
  }

  @Test func textBody_isShown_asFarAsItsFirstLine() {
    #expect(text(Data("no disk".utf8)) == "\(start): no disk")
    #expect(text(Data("\r\n  no disk\r\nleft".utf8)) == "\(start):   no disk")
    #expect(text(Data("größer 🚀".utf8)) == "\(start): größer 🚀")
    #expect(text(Data()) == "\(start)." && text(Data("\n\n".utf8)) == "\(start).")
  }

  @Test(arguments: 0..<4) func longLine_isCut_betweenCharacters(_ offset: Int) {
    let body = String(repeating: "x", count: 196 + offset) + String(repeating: "🚀", count: 100_000)
    let shown = text(Data(body.utf8))
    #expect(shown.hasPrefix("\(start): xxx") && shown.hasSuffix("…"))
    #expect(!shown.contains("\u{FFFD}") && shown.utf8.count < 300)
  }

  @Test(
    arguments: [
      [0xFF, 0xD8, 0xFF, 0xE0], [0x89, 0x50, 0x4E, 0x47], [0x41, 0x00, 0x42, 0x00], [0x61, 0xC3],
      [0x1B, 0x5B, 0x33, 0x31],
      [UInt8](repeating: 0x80, count: 1000),
    ] as [[UInt8]])
  func bytes_thatAreNoText_areNotShown(_ bytes: [UInt8]) {
    #expect(text(Data(bytes)) == "\(start).")
    // Of a body that begins somewhere in other bytes the same is shown.
    #expect(text((Data([0x41]) + Data(bytes)).dropFirst()) == "\(start).")
  }
}
