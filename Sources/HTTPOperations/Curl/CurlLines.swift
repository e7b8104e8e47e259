#if os(Linux) || os(Android)
import Foundation

/// Who may open a connection, and who waits for one: a line for each server, so that one that does not answer holds up nobody
/// who asks another. In a line one begins after the other, in the order in which they came.
///
/// Where a server takes many requests on one connection, so many as are sure to fit count as one. Those that need a connection of
/// their own count by themselves.
///
/// libcurl has a limit of its own, but one line for all servers.
struct CurlLines<Member: AnyObject> {
  private struct Line {
    /// Those that were begun.
    var own = 0, shared = 0
    /// How many that share fit on a connection.
    var width = 1
    /// Those that wait, by their numbers; the next one that comes has the last number.
    var waiting: [Int: (member: Member, needsOwn: Bool)] = [:]
    var numbers: [ObjectIdentifier: Int] = [:]
    var (first, last) = (0, 0)

    var isEmpty: Bool { own == 0 && shared == 0 && waiting.isEmpty }

    func hasRoom(needsOwn: Bool, limit: Int) -> Bool {
      let (own, shared) = needsOwn ? (own + 1, shared) : (own, shared + 1)
      // Before 8.11 libcurl forgets that a server takes many on one connection where it answers one with HTTP/1.1.
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

    /// Takes out those for which there is room, from the front of the line.
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

  /// Servers take more than this on a connection.
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

  /// One that was begun is over. Returns those that begin in its place.
  mutating func leave(_ server: CurlServer, needsOwn: Bool) -> [Member] {
    change(server) { [limit] line in
      line.add(-1, needsOwn: needsOwn)
      return line.beginNext(limit: limit)
    }
  }

  /// One that waits does so no longer. Returns those that begin, since it stood before them; nil if it did not wait.
  mutating func withdraw(_ member: Member, _ server: CurlServer) -> [Member]? {
    change(server) { [limit] line in
      line.withdraw(member) ? line.beginNext(limit: limit) : nil
    }
  }

  /// The server takes many requests on one connection, or does not. Returns those that begin.
  mutating func setShared(_ isShared: Bool, _ server: CurlServer) -> [Member] {
    change(server) { [limit, widthOfShared] line in
      line.width = isShared ? widthOfShared : 1
      return line.beginNext(limit: limit)
    }
  }

  /// What is known of a server is forgotten with its last request.
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
