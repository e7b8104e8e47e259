import CompositeOperations
import Foundation
import OperationTimelines

/// The whole job as one operation: find the files, read them, read the pages they link to, check
/// the links, and make the report, which is the last of its values.
struct CheckRun: Sendable {
  let options: Options
  let findings = Findings()
  let progress: TerminalProgress
  private let listings = FolderListings()

  init(_ options: Options, progress: TerminalProgress) {
    self.options = options
    self.progress = progress
  }

  func makeOperation() -> CompositeOperation {
    let run = CompositeOperation(
      sequence: LinearSequence(
        { _ in findFiles() },
        { files in read(files?.result() ?? []) },
        { pages in readLinkedPages(of: pages?.result() ?? []) },
        { _ in checkLinks() },
        { _ in SimpleOperation<Report> { $0.finish(with: findings.report()) } }))
    run.name = "LinkCheck"
    return run
  }

  private func findFiles() -> SimpleOperation<[SourceFile]> {
    named(
      "find files",
      SimpleOperation { operation in
        do {
          let finder = FileFinder(root: options.root)
          operation.finish(with: try finder.find(options.paths) { operation.isCancelled })
        } catch {
          operation.reject(with: error)
        }
      })
  }

  /// Reads the files, in parallel. `forEach` makes an operation only when it can run, however many
  /// files there are.
  private func read(_ files: [SourceFile]) -> SimpleOperation<[Page]> {
    let reading = forEach(files, maxConcurrent: options.width) { file in
      named(file.name, SimpleOperation<Page> { $0.finish(with: PageReader.read(file)) })
    }
    return shown("Reading files", reading, ifAny: files)
  }

  /// Reads the pages outside of the given paths that links with an anchor lead to.
  private func readLinkedPages(of pages: [Page]) -> SimpleOperation<[Page]> {
    findings.set(pages: pages)
    let known = Set(pages.map(\.file.path))
    var linked: [String: SourceFile] = [:]
    for mention in findings.mentions {
      guard case .local(let path, let fragment) = mention.target,
        let page = LocalChecker.pageWithAnchor(path: path, fragment: fragment, from: mention.file, in: listings),
        !known.contains(page), let kind = SourceFile.kind(ofPath: page)
      else { continue }
      linked[page] = SourceFile(path: page, name: page, kind: kind, root: mention.file.root)
    }
    let reading = forEach(linked.values, maxConcurrent: options.width) { file in
      named(file.name, SimpleOperation<Page> { $0.finish(with: PageReader.read(file)) })
    }
    return named(
      "Reading linked files",
      reading.map { pages in
        findings.set(linkedPages: pages)
        return pages
      })
  }

  /// Checks the links to files in one group and the links to each server in another, of which so
  /// many are at work at a time.
  ///
  /// How many requests a server gets at a time is the checker's to see to: a link that waits to be
  /// asked for again keeps no other from its turn.
  private func checkLinks() -> CompositeOperation {
    let checker = WebLinkChecker(options)
    let servers = options.offline ? [] : findings.webLinks
    let groups = servers.map { server, urls in
      let group = named(server, CompositeOperation(operations: urls.map { checkWebLink($0, checker) }))
      // A bar counts links, not servers.
      group.progressWeight = Double(urls.count)
      return group
    }
    let check = CompositeOperation(operations: [checkLocalLinks()] + groups)
    check.maxConcurrentOperationCount = options.width
    return shown("Checking web links", check, ifAny: servers)
  }

  /// Checks the links to files, page by page.
  private func checkLocalLinks() -> SimpleOperation<[Void]> {
    let checker = LocalChecker(
      listings: listings, anchors: findings.anchors, unreadable: findings.unreadablePaths)
    let mentions = findings.mentions
    let checks = forEach(findings.mentionsByPage, maxConcurrent: options.width) { numbers in
      SimpleOperation<Void> { operation in
        for number in numbers where !operation.isCancelled {
          guard case .local(let path, let fragment) = mentions[number].target else { continue }
          let verdict = checker.verdict(path: path, fragment: fragment, from: mentions[number].file)
          findings.record(verdict, forMention: number)
        }
        operation.finish()
      }
    }
    return named("links to files", checks)
  }

  private func checkWebLink(_ url: URL, _ checker: WebLinkChecker<ContinuousClock>) -> SimpleOperation<Void> {
    let check = checker.check(url) { pause, reason in
      progress.print("\(url.absoluteString): \(reason); asking again in \(pause.inSeconds)")
    }
    return named(url.absoluteString, check.map { verdict in findings.record(verdict, for: url) })
  }

  // MARK: - Showing

  private func named<O: Operation>(_ name: String, _ operation: O) -> O {
    operation.name = name
    return operation
  }

  /// Has a stage that has something to do shown on the terminal.
  private func shown<O: SettlingOperation>(_ name: String, _ stage: O, ifAny items: some Collection) -> O {
    if !items.isEmpty { progress.track(stage, title: name) }
    return named(name, stage)
  }
}
