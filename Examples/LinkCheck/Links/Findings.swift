import ExampleSupport
import Foundation

/// One link of one file, and what it refers to.
struct Mention: Sendable {
  let file: SourceFile
  let line: Int
  let destination: String
  let target: LinkTarget
}

/// All that a run has found so far. Operations write it, the report is made from it, at any time.
final class Findings: Sendable {
  private struct State {
    var pages: [Page] = []
    var mentions: [Mention] = []
    var linkedPages: [Page] = []
    var local: [Int: Verdict] = [:]
    var web: [URL: Verdict] = [:]
  }

  private let state = Shared(State())

  /// Takes in the pages whose links are checked. Links are known by their number from then on.
  func set(pages: [Page]) {
    let mentions = pages.flatMap { page in
      page.links.map { link in
        Mention(
          file: page.file, line: link.line, destination: link.destination,
          target: LinkTarget(link.destination, base: page.base))
      }
    }
    state.withLock { state in
      state.pages = pages
      state.mentions = mentions
    }
  }

  /// Takes in the pages of which only the anchors are needed.
  func set(linkedPages: [Page]) {
    state.withLock { $0.linkedPages = linkedPages }
  }

  var mentions: [Mention] { state.withLock { $0.mentions } }

  /// The anchors of every page read that has any to offer, by path.
  var anchors: [String: Set<String>] {
    let pages = allPages.filter { !$0.isForwarded && $0.failure == nil }
    return Dictionary(pages.map { ($0.file.path, $0.anchors) }) { first, _ in first }
  }

  /// The paths of the pages that could not be read.
  var unreadablePaths: Set<String> { Set(allPages.filter { $0.failure != nil }.map(\.file.path)) }

  private var allPages: [Page] { state.withLock { $0.pages + $0.linkedPages } }

  /// The numbers of each page's mentions.
  var mentionsByPage: [Range<Int>] {
    var end = 0
    return state.withLock { $0.pages.map(\.links.count) }.map { count in
      end += count
      return end - count..<end
    }
  }

  /// Every distinct web link in the order of its first mention, grouped by server.
  var webLinks: [(server: String, urls: [URL])] {
    var seen: Set<URL> = []
    var servers: [String] = []
    var groups: [String: [URL]] = [:]
    for mention in mentions {
      guard case .web(let url) = mention.target, seen.insert(url).inserted else { continue }
      if groups[url.server] == nil { servers.append(url.server) }
      groups[url.server, default: []].append(url)
    }
    return servers.map { ($0, groups[$0] ?? []) }
  }

  func record(_ verdict: Verdict, forMention number: Int) {
    state.withLock { $0.local[number] = verdict }
  }

  func record(_ verdict: Verdict, for url: URL) {
    state.withLock { $0.web[url] = verdict }
  }

  /// The report on everything so far.
  func report(isInterrupted: Bool = false) -> Report {
    let state = state.withLock { $0 }
    var report = Report(pages: state.pages, isInterrupted: isInterrupted)
    for (number, mention) in state.mentions.enumerated() {
      switch mention.target {
      case .web(let url): report.add(mention, state.web[url])
      case .local: report.add(mention, state.local[number])
      case .skipped(let scheme): report.addSkipped(scheme)
      case .invalid(let reason): report.add(mention, .broken(reason: reason))
      }
    }
    report.sort()
    return report
  }
}

/// What checking one link came to.
enum Verdict: Equatable, Sendable {
  /// `redirects` holds the addresses that the server sent us to, the last one being where the link
  /// ends.
  case good(redirects: [String] = [])
  /// The link leads nowhere: no such file or anchor, or the server says so.
  case broken(reason: String, status: Int? = nil)
  /// Nothing is known: the server could not be asked, or did not answer in time.
  case unreachable(reason: String)
}
