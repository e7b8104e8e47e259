#if os(Linux)
import Foundation
import Testing

@testable import HTTPOperations

@Suite("HTTP: lines of requests for a server") struct CurlLinesTests {
  /// The members are strings' boxes, and what begins is told by their names.
  private final class Lines {
    private final class Member {
      let name: String
      init(_ name: String) { self.name = name }
    }

    private var lines: CurlLines<Member>
    private var members: [String: Member] = [:]

    init(limit: Int) { lines = CurlLines(limit: limit) }

    private func member(_ name: String) -> Member {
      let member = members[name] ?? Member(name)
      members[name] = member
      return member
    }

    private func server(_ host: String) -> CurlServer { CurlServer(of: URL(string: "https://\(host)/")) }

    func enter(_ name: String, _ host: String = "host", needsOwn: Bool = false) -> Bool {
      lines.enter(member(name), server(host), needsOwn: needsOwn)
    }

    func leave(needsOwn: Bool = false) -> [String] {
      lines.leave(server("host"), needsOwn: needsOwn).map(\.name)
    }

    func withdraw(_ name: String) -> [String]? { lines.withdraw(member(name), server("host"))?.map(\.name) }

    func setShared(_ isShared: Bool) -> [String] { lines.setShared(isShared, server("host")).map(\.name) }
  }

  @Test func members_beginInTheirOrder_upToTheLimit() {
    let lines = Lines(limit: 2)
    #expect(["a", "b", "c", "d", "e"].map { lines.enter($0) } == [true, true, false, false, false])
    #expect(lines.enter("f", "other"))
    #expect(lines.withdraw("d") == [])
    #expect(lines.withdraw("d") == nil && lines.withdraw("a") == nil)
    #expect(lines.leave() == ["c"])
    #expect(lines.leave() == ["e"])
    #expect(lines.leave().isEmpty && lines.leave().isEmpty)
  }

  /// A server that says that it takes many at once does not get rid of all limits.
  @Test func shared_areMany_butNotWithoutLimit() {
    let lines = Lines(limit: 2)
    #expect((0..<100).filter { lines.enter("\($0)") } == [0, 1])
    #expect(lines.setShared(true) == (2..<64).map(String.init))
    #expect(lines.leave() == ["64"])
    // It was not true. None begins until there is room by the old rule.
    #expect(lines.setShared(false).isEmpty)
    for _ in 0..<62 { #expect(lines.leave().isEmpty) }
    #expect(lines.leave() == ["65"])
  }

  @Test func ownConnections_countByThemselves_andHaveTheirTurn() {
    let lines = Lines(limit: 2)
    #expect(lines.enter("a") && lines.enter("b"))
    #expect(lines.setShared(true).isEmpty)
    #expect(!lines.enter("c", needsOwn: true))
    // It would fit, but would keep the one before it waiting for ever.
    #expect(!lines.enter("d"))
    #expect(lines.withdraw("c") == ["d"])
    #expect(lines.leave().isEmpty && lines.leave().isEmpty)
    #expect(lines.enter("e", needsOwn: true))
    // Beside it nothing is shared, as far as libcurl remembers.
    #expect(!lines.enter("f") && !lines.enter("g"))
    #expect(lines.leave(needsOwn: true) == ["f", "g"])
    for _ in 0..<3 { #expect(lines.leave().isEmpty) }
    // All is forgotten.
    #expect(["h", "i", "j"].map { lines.enter($0) } == [true, true, false])
  }
}
#endif
