#if os(macOS) || os(Linux)
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PostgresHostListTests {
  private func parameters(_ list: PostgresHostList) -> [String] { list.parameters.map { "\($0.name)=\($0.value)" } }

  @Test(
    arguments: [
      // Libpq says the default port as a number, or as nothing.
      (",,", "5432", "port=5432,5432"), (",,", "", "port=5432,5432"), ("5433,,", "5433", "port=5432,5432"),
      ("5432,5433,5434", "5432", "port=5433,5434"), ("5433", "5433", nil), ("", "5432", nil), ("", "6432", nil),
    ] as [(String, String, String?)])
  func removeSilent_firstOfThree_leavesTheOthers(ports: String, port: String, expected: String?) {
    var list = PostgresHostList(names: "a,b,c", addresses: "", ports: ports)
    list.removeSilent("a", port: port)
    #expect(list.hosts.map(\.name) == ["b", "c"])
    #expect(parameters(list) == ["host=b,c"] + (expected.map { [$0] } ?? []))
  }

  @Test func removeSilent_sameHostWithAnotherPort_isLeft() {
    var list = PostgresHostList(names: "a,a,a", addresses: "", ports: "5433,,5434")
    list.removeSilent("a", port: "5432")
    #expect(parameters(list) == ["host=a", "port=5434"])
  }

  @Test func removeSilent_addresses_areTheNames() {
    var list = PostgresHostList(names: "", addresses: "127.0.0.1,127.0.0.2", ports: "")
    list.removeSilent("127.0.0.1", port: "5432")
    #expect(parameters(list) == ["host=", "hostaddr=127.0.0.2"])
  }

  /// Libpq may have tried none of the hosts before it, and all behind it.
  @Test func removeSilent_shuffled_leavesAllOthers() {
    var list = PostgresHostList(names: "a,b,c", addresses: "", ports: "5433,,5434", isShuffled: true)
    list.removeSilent("c", port: "5434")
    #expect(parameters(list) == ["host=a,b", "port=5433,5432"])
    list.removeSilent("a", port: "5433")
    #expect(parameters(list) == ["host=b", "port=5432"])
    list.removeSilent("b", port: "5432")
    #expect(list.hosts.isEmpty)
  }

  @Test func removeSilent_last_orNone_leavesNothing() {
    for (name, count) in [("b", 2), ("elsewhere", 2), ("", 1)] {
      var list = PostgresHostList(names: count == 1 ? "" : "a,b", addresses: "", ports: "")
      list.removeSilent(name, port: "5432")
      #expect(list.hosts.isEmpty)
    }
  }
}
#endif
