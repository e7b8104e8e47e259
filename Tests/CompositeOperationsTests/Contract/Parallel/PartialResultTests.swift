import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The values of succeeded children stay, whatever the outcome: a crawler that loses one page of 24
/// keeps 23.
@Suite("3 Partial results", .hangLimit)
struct PartialResultTests {
  private static let lost = 12

  private func pages() -> [SimpleOperation<Int>] {
    (0..<24).map { $0 == Self.lost ? failing(TestError.first, named: "page \($0)") : succeeding($0) }
  }

  private static let kept = (0..<24).filter { $0 != lost }

  @Test("results and errors of a failed composite: 23 pages and one error")
  func results_ofFailedComposite_areThoseThatSucceeded() async {
    let crawl = CompositeOperation(operations: pages())
    crawl.failurePolicy = .waitForAll
    #expect(await outcomeOfStarting(crawl).error is CompositeError)
    #expect(crawl.results as? [Int] == Self.kept)
    #expect(crawl.errors as? [TestError] == [.first])
  }

  @Test("In a chain, where only the error is at hand, its outcomes have the 23 pages")
  func outcomes_ofErrorInChain_haveWhatSucceeded() async throws {
    let pages = pages()
    let report = succeeding(24)
      .then { _ in
        let crawl = CompositeOperation(operations: pages)
        crawl.failurePolicy = .waitForAll
        return crawl
      }
      .map { values in values.count }
      .recover { error in
        let kept = (error as? CompositeError)?.outcomes.compactMap(\.value) as? [Int]
        return succeeding(kept == Self.kept ? 23 : 0)
      }
    #expect(await outcomeOfStarting(report).value == 23)
  }

  @Test("allSettled in a chain continues with the 23 pages")
  func allSettled_inChain_goesOnWithWhatSucceeded() async {
    let pages = pages()
    let report = succeeding(24).then { _ in allSettled(pages, maxConcurrent: 4) }.map { outcomes in
      outcomes.compactMap(\.value)
    }
    #expect(await outcomeOfStarting(report).value == Self.kept)
  }

  @Test("forEach of settled operations continues with the 23 pages")
  func forEachOfSettled_inChain_goesOnWithWhatSucceeded() async {
    let pages = pages()
    let report = forEach(0..<24, maxConcurrent: 4) { pages[$0].settled() }.map { outcomes in
      outcomes.compactMap(\.value)
    }
    #expect(await outcomeOfStarting(report).value == Self.kept)
  }

  @Test("results and errors before and while the composite runs: of the children that have finished")
  func results_whileExecuting_areOfThoseThatFinished() async {
    let held = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [succeeding(1), failing(TestError.first), held])
    composite.failurePolicy = .waitForAll
    composite.maxConcurrentOperationCount = 1
    #expect(composite.results.isEmpty && composite.errors.isEmpty)
    await onWorker { composite.start() }
    await held.started.wait()
    #expect(composite.results as? [Int] == [1])
    #expect(composite.errors as? [TestError] == [.first])
    held.finish(with: 3)
    _ = await settled(composite)
    #expect(composite.results as? [Int] == [1, 3])
  }

  @Test("results and errors of a cancelled sequence: of the children so far")
  func results_ofCancelledSequence_areOfThoseSoFar() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(
      sequence: ListSequence([succeeding(1), failing(TestError.first), held]))
    await onWorker { composite.start() }
    await held.started.wait()
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(composite.results as? [Int] == [1])
    #expect(composite.errors as? [TestError] == [.first])
  }

  @Test("results of a composite that succeeded after failures, as a sequence may: of the children that succeeded")
  func errors_ofSequenceThatSucceeded_areThoseOnTheWay() async {
    let composite = CompositeOperation(sequence: ListSequence([failing(TestError.first), succeeding(2)]))
    #expect(await outcomeOfStarting(composite).value as? [Int] == [2])
    #expect(composite.errors as? [TestError] == [.first])
  }
}
