#if os(macOS) || os(Linux)
/// The hosts of an address that libpq has still to try.
struct PostgresHostList: Equatable, Sendable {
  struct Host: Equatable, Sendable {
    var name: String?
    var address: String?
    /// Nil for libpq's default.
    var port: String?
  }

  /// In the order of the address. One without a name is the server of this machine.
  private(set) var hosts: [Host]
  /// Whether each host has a port of its own in the address. Otherwise one port holds for all.
  private let listsPorts: Bool

  /// Whether libpq tries the hosts in an order of its own.
  private let isShuffled: Bool

  /// What libpq takes for an empty place in a list of ports.
  private static let defaultPort = "5432"

  /// Takes what an address says, with commas between the hosts; nothing where it says nothing.
  init(names: String, addresses: String, ports: String, isShuffled: Bool = false) {
    func list(_ text: String) -> [String] {
      text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    let (names, addresses, ports) = (list(names), list(addresses), list(ports))
    hosts = (0..<max(names.count, addresses.count, 1)).map { index in
      func value(_ list: [String], at index: Int) -> String? {
        list.indices.contains(index) && !list[index].isEmpty ? list[index] : nil
      }
      return Host(
        name: value(names, at: index), address: value(addresses, at: index),
        port: value(ports, at: ports.count == 1 ? 0 : index))
    }
    listsPorts = ports.count > 1
    self.isShuffled = isShuffled
  }

  /// What libpq has to be told if these are not all hosts of the address.
  var parameters: [(name: String, value: String)] {
    func list(_ value: (Host) -> String?) -> String { hosts.map { value($0) ?? "" }.joined(separator: ",") }
    var parameters = [(name: "host", value: list(\.name))]
    if hosts.contains(where: { $0.address != nil }) { parameters.append(("hostaddr", list(\.address))) }
    // Libpq ignores an empty value: the ports of the address, one for each of its hosts, would
    // stay.
    if listsPorts { parameters.append(("port", list { $0.port ?? Self.defaultPort })) }
    return parameters
  }

  /// Removes the host that did not answer, and those before it, which libpq has tried unless it
  /// has an order of its own.
  ///
  /// - Parameters:
  ///   - name: its name, or else its address, as libpq says it.
  ///   - port: its port; may be empty for the default.
  mutating func removeSilent(_ name: String, port: String) {
    let port = port.isEmpty ? Self.defaultPort : port
    guard !hosts.isEmpty else { return }
    let found = hosts.firstIndex { host in
      // A port for all tells nothing, and without one libpq's default may be another.
      (host.name ?? host.address) == name && (!listsPorts || (host.port ?? Self.defaultPort) == port)
    }
    let silent = found ?? hosts.count - 1
    // The next attempt may try a host again that was refused, but passes over none.
    if isShuffled { hosts.remove(at: silent) } else { hosts.removeFirst(silent + 1) }
  }
}
#endif
