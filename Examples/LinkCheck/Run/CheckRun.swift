import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The whole job as one operation: find the files, read them, read the pages they link to, check the links, and make
/// the report, which is the last of its values.
struct CheckRun: Sendable {
  let options: Options
  let findings = Findings()
  let progress: ProgressReporter
  private let listings = FolderListings()

  init(_ options: Options, progress: ProgressReporter) {
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
    SimpleOperation { operation in
      do {
        let finder = FileFinder(root: options.root)
        operation.finish(with: try finder.find(options.paths) { operation.isCancelled })
      } catch {
        operation.reject(with: error)
      }
    }
  }

  /// Reads the files, in parallel. `forEach` makes an operation only when it can run, however many files there are.
  private func read(_ files: [SourceFile]) -> SimpleOperation<[Page]> {
    progress.begin("Reading files", total: files.count)
    return forEach(files, maxConcurrent: options.width) { file in
      SimpleOperation<Page> { operation in
        let page = PageReader.read(file)
        progress.step(file.name)
        operation.finish(with: page)
      }
    }
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
    return forEach(linked.values, maxConcurrent: options.width) { file in
      SimpleOperation<Page> { $0.finish(with: PageReader.read(file)) }
    }
    .map { pages in
      findings.set(linkedPages: pages)
      return pages
    }
  }

  /// Checks the links to files in one group and the links to each server in another, side by side.
  private func checkLinks() -> CompositeOperation {
    let session = URLSession.forLinks(perHost: options.perHost)
    let servers = options.offline ? [] : findings.webLinks
    progress.begin("Checking web links", total: servers.map(\.urls.count).reduce(0, +))
    let groups = servers.map { server, urls in
      let group = CompositeOperation(operations: urls.map { checkWebLink($0, session: session) })
      group.name = server
      group.maxConcurrentOperationCount = options.perHost
      return group
    }
    let check = CompositeOperation(operations: [checkLocalLinks()] + groups)
    check.maxConcurrentOperationCount = options.width
    return check
  }

  /// Checks the links to files, page by page.
  private func checkLocalLinks() -> SimpleOperation<[Void]> {
    let checker = LocalChecker(
      listings: listings, anchors: findings.anchors, unreadable: findings.unreadablePaths)
    let mentions = findings.mentions
    return forEach(findings.mentionsByPage, maxConcurrent: options.width) { numbers in
      SimpleOperation<Void> { operation in
        for number in numbers where !operation.isCancelled {
          guard case .local(let path, let fragment) = mentions[number].target else { continue }
          let verdict = checker.verdict(path: path, fragment: fragment, from: mentions[number].file)
          findings.record(verdict, forMention: number)
        }
        operation.finish()
      }
    }
  }

  private func checkWebLink(_ url: URL, session: URLSession) -> SimpleOperation<Void> {
    let policy = LinkInquiry.Policy(retries: options.retries, firstPause: options.retryDelay)
    let sequence = LinkSequence(
      LinkInquiry(url, policy: policy), timeout: options.timeout, session: session
    ) { pause, reason in
      progress.say("\(url.absoluteString): \(reason); asking again in \(pause.inSeconds)")
    }
    return CompositeOperation(sequence: sequence).map { values in
      if let verdict = values.last as? Verdict { findings.record(verdict, for: url) }
      progress.step(url.server)
    }
  }
}
