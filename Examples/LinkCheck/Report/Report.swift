/// What a run found out, ready to be printed. Encoded, it is what `--json` prints.
struct Report: Encodable, Equatable, Sendable {
  struct Counts: Encodable, Equatable, Sendable {
    /// Every mention of a link counts, also the second one of the same.
    var total = 0
    var good = 0
    var broken = 0
    var unreachable = 0
    /// Good links that the server redirected.
    var redirected = 0
    /// Links that were not checked: with `--offline`, or because the run was interrupted.
    var unchecked = 0
    /// Links of a kind that cannot be checked.
    var skipped = 0
  }

  /// A link that is not simply good.
  struct Finding: Encodable, Equatable, Sendable {
    let file: String
    let line: Int
    /// As it is written in the file.
    let link: String
    var reason: String?
    /// The status that the server answered with.
    var status: Int?
    /// Where the link really leads.
    var target: String?
    /// How many redirects led there.
    var redirects: Int?
  }

  struct UnreadableFile: Encodable, Equatable, Sendable {
    let file: String
    let reason: String
  }

  let files: Int
  private(set) var links = Counts()
  private(set) var broken: [Finding] = []
  private(set) var unreachable: [Finding] = []
  private(set) var redirected: [Finding] = []
  /// How many links were skipped, by scheme.
  private(set) var skipped: [String: Int] = [:]
  private(set) var unreadable: [UnreadableFile]
  let interrupted: Bool

  init(pages: [Page], isInterrupted: Bool) {
    files = pages.count
    interrupted = isInterrupted
    unreadable = pages.compactMap { page in
      page.failure.map { UnreadableFile(file: page.file.name, reason: $0) }
    }
    for page in pages {
      for problem in page.problems {
        links.total += 1
        links.broken += 1
        broken.append(
          Finding(file: page.file.name, line: problem.line, link: problem.text, reason: problem.reason))
      }
    }
  }

  mutating func add(_ mention: Mention, _ verdict: Verdict?) {
    links.total += 1
    var finding = Finding(file: mention.file.name, line: mention.line, link: mention.destination)
    switch verdict {
    case nil: links.unchecked += 1
    case .good(let redirects):
      links.good += 1
      guard let target = redirects.last else { return }
      links.redirected += 1
      finding.target = target
      finding.redirects = redirects.count
      redirected.append(finding)
    case .broken(let reason, let status):
      links.broken += 1
      finding.reason = reason
      finding.status = status
      broken.append(finding)
    case .unreachable(let reason):
      links.unreachable += 1
      finding.reason = reason
      unreachable.append(finding)
    }
  }

  mutating func addSkipped(_ scheme: String) {
    links.total += 1
    links.skipped += 1
    skipped[scheme, default: 0] += 1
  }

  /// Puts the broken links, which were found in two ways, in the order of the files' names and
  /// lines.
  mutating func sort() {
    broken.sort { ($0.file, $0.line, $0.link) < ($1.file, $1.line, $1.link) }
  }

  /// Whether something is wrong that fails the run.
  func isFailure(strict: Bool) -> Bool {
    !broken.isEmpty || !unreadable.isEmpty || (strict && !unreachable.isEmpty)
  }
}
