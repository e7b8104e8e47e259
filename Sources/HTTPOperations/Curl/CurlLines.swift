#if os(Linux) || os(Android)
import Foundation

/// Which transfers may open a connection, and which wait: a line for each server, so that a server
/// that does not answer delays only its own requests. The transfers of a line begin in the order in
/// which they came.
///
/// If a server takes many requests on one connection, as many as surely fit count as one. Requests
/// that need their own connection count by themselves.
///
/// libcurl has its own limit, but one line for all servers.
struct CurlLines<Member: AnyObject> {
  private struct Line {
    /// Members that have begun.
    var own = 0, shared = 0
    /// How many sharing members fit on a connection.
    var width = 1
    /// Waiting members, by their numbers; the next member gets the last number.
    var waiting: [Int: (member: Member, needsOwn: Bool)] = [:]
    var numbers: [ObjectIdentifier: Int] = [:]
    var (first, last) = (0, 0)

    var isEmpty: Bool { own == 0 && shared == 0 && waiting.isEmpty }

    func hasRoom(needsOwn: Bool, limit: Int) -> Bool {
      let (own, shared) = needsOwn ? (own + 1, shared) : (own, shared + 1)
      // Before 8.11 libcurl forgets that a server takes many on one connection where it answers one
      // with HTTP/1.1.
      let width = own > 0 ? 1 : width
      return own + (shared + width - 1) / width <= limit
    }

    mutating func add(_ count: Int, needsOwn: Bool) {
      if needsOwn { own += count } else { shared += count }
    }

    mutating func wait(_ member: Member, needsOwn: Bool) {
      waiting[last] = (member, needsOwn)
      numbers[ObjectIdentifier(member)] = last
      last += 1
    }

    mutating func withdraw(_ member: Member) -> Bool {
      guard let number = numbers.removeValue(forKey: ObjectIdentifier(member)) else { return false }
      waiting[number] = nil
      return true
    }

    /// Removes the members for which there is room, from the front of the line.
    mutating func beginNext(limit: Int) -> [Member] {
      var begun: [Member] = []
      while first < last {
        if let (member, needsOwn) = waiting[first] {
          guard hasRoom(needsOwn: needsOwn, limit: limit) else { break }
          add(1, needsOwn: needsOwn)
          _ = withdraw(member)
          begun.append(member)
        }
        first += 1
      }
      return begun
    }
  }

  /// Servers take more requests than this on a connection.
  private let widthOfShared = 32
  private let limit: Int
  private var lines: [CurlServer: Line] = [:]

  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// Whether the member may begin. If not, it waits.
  mutating func enter(_ member: Member, _ server: CurlServer, needsOwn: Bool) -> Bool {
    change(server) { [limit] line in
      guard line.waiting.isEmpty, line.hasRoom(needsOwn: needsOwn, limit: limit) else {
        line.wait(member, needsOwn: needsOwn)
        return false
      }
      line.add(1, needsOwn: needsOwn)
      return true
    }
  }

  /// A member that has begun is over. Returns the members that begin in its place.
  mutating func leave(_ server: CurlServer, needsOwn: Bool) -> [Member] {
    change(server) { [limit] line in
      line.add(-1, needsOwn: needsOwn)
      return line.beginNext(limit: limit)
    }
  }

  /// A member no longer waits. Returns the members behind it that begin; nil if it did not wait.
  mutating func withdraw(_ member: Member, _ server: CurlServer) -> [Member]? {
    change(server) { [limit] line in
      line.withdraw(member) ? line.beginNext(limit: limit) : nil
    }
  }

  /// The server takes many requests on one connection, or does not. Returns the members that begin.
  mutating func setShared(_ isShared: Bool, _ server: CurlServer) -> [Member] {
    change(server) { [limit, widthOfShared] line in
      line.width = isShared ? widthOfShared : 1
      return line.beginNext(limit: limit)
    }
  }

  /// Forgets a server with its last request.
  private mutating func change<Result>(_ server: CurlServer, _ body: (inout Line) -> Result) -> Result {
    var line = lines.removeValue(forKey: server) ?? Line()
    defer { lines[server] = line.isEmpty ? nil : line }
    return body(&line)
  }
}

/// What connections are made to.
struct CurlServer: Hashable {
  let scheme: String, host: String, port: Int

  init(of url: URL?) {
    scheme = url?.scheme?.lowercased() ?? ""
    host = url?.host?.lowercased() ?? ""
    port = url?.port ?? (scheme == "https" ? 443 : 80)
  }
}
#endif
