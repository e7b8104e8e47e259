import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Compositions in a limited composite whose operations depend on later siblings.
@Suite("3.2 Parallel: limits and what waits for a sibling", .hangLimit)
struct WaitingForSiblingTests {
  enum Wrapper: CaseIterable {
    case map, mapAsync, then, recover, settled, retrying, condition, exclusive, limited, guarded
    case composite, zip, all, allSettled, firstSuccess, nested, mapOfComposite, plainInComposite, severalInComposite

    func callAsFunction(_ operation: SimpleOperation<Int>) -> Operation {
      switch self {
      case .map: operation.map { $0 }
      case .mapAsync: operation.mapAsync { $0 }
      case .then: operation.then { succeeding($0) }
      case .recover: operation.recover { _ in succeeding(0) }
      case .settled: operation.settled()
      case .retrying: operation.retrying(RetryPolicy(maxAttempts: 2)) { _ in succeeding(0) }
      case .condition: operation.condition(.noFailedDependencies)
      case .exclusive: operation.exclusive("file", in: ExclusionRegistry())
      case .limited: operation.limited(by: SharedLimit("server", maxConcurrent: 1))
      case .guarded: operation.guarded(by: CircuitBreaker("server", failureThreshold: 1, resetAfter: .seconds(60)))
      case .composite: CompositeOperation(operations: [operation])
      case .zip: CompositeOperations.zip(operation)
      case .all: CompositeOperations.all([operation])
      case .allSettled: CompositeOperations.allSettled([operation])
      case .firstSuccess: CompositeOperations.firstSuccess(of: [operation])
      case .nested: operation.map { $0 }.settled().exclusive("file", in: ExclusionRegistry()).map { $0 }
      case .mapOfComposite: CompositeOperation(operations: [operation.map { $0 }]).map { $0.count }
      case .plainInComposite:
        {
          let plain = BlockOperation {}
          for dependency in operation.dependencies { plain.addDependency(dependency) }
          return CompositeOperation(operations: [plain])
        }()
      case .severalInComposite:
        {
          let second = succeeding(2)
          for dependency in operation.dependencies { second.addDependency(dependency) }
          return CompositeOperation(operations: [operation, second.map { $0 }])
        }()
      }
    }
  }

  private func parse(after download: Operation) -> SimpleOperation<Int> {
    let parse = succeeding(2, named: "parse")
    parse.addDependency(download)
    return parse
  }

  @Test("Its operation depends on a later sibling: that runs first", arguments: Wrapper.allCases)
  func limitOne_wrapperOfDependentOnLaterSibling_letsItRunFirst(wrapper: Wrapper) async {
    let download = succeeding(1, named: "download")
    let composite = CompositeOperation(operations: [wrapper(parse(after: download)), download])
    composite.maxConcurrentOperationCount = 1
    #expect(await outcomeOfStarting(composite).value != nil)
  }

  @Test("In a queue with one slot as well", arguments: Wrapper.allCases, [true, false])
  func queueWithOneSlot_wrapperOfDependentOnLaterSibling_letsItRunFirst(wrapper: Wrapper, isLimited: Bool) async {
    let queue = OperationQueue(limit: 1)
    let download = succeeding(1, named: "download")
    let composite = CompositeOperation(
      operations: [wrapper(parse(after: download)), download], operationQueue: queue)
    if isLimited { composite.maxConcurrentOperationCount = 1 }
    queue.addOperation(composite)
    #expect(await settled(composite).value != nil)
  }

  @Test("Two places, both taken by such wrappers", arguments: Wrapper.allCases)
  func limitTwo_wrappersOfDependentsOnLaterSiblings_letThemRunFirst(wrapper: Wrapper) async {
    let downloads = (0..<3).map { succeeding($0) }
    let composite = CompositeOperation(
      operations: downloads.map { wrapper(parse(after: $0)) } + downloads.reversed())
    composite.maxConcurrentOperationCount = 2
    #expect(await outcomeOfStarting(composite).value != nil)
  }

  @Test("all(_:maxConcurrent:), allSettled and forEach")
  func typedForms_wrapperOfDependentOnLaterSibling_letItRunFirst() async {
    func operations() -> [SimpleOperation<Int>] {
      let download = succeeding(1)
      return [parse(after: download).map { $0 }, download]
    }
    #expect(await outcomeOfStarting(all(operations(), maxConcurrent: 1)).value == [2, 1])
    #expect(await outcomeOfStarting(allSettled(operations(), maxConcurrent: 1)).value?.count == 2)
    let made = operations()
    #expect(await outcomeOfStarting(forEach(0..<2, maxConcurrent: 1) { made[$0] }).value == [2, 1])
  }

  @Test("A wrapper whose operation is itself a later child")
  func limitOne_wrapperOfLaterSibling_letsItRunFirst() async {
    for wrap: @Sendable (SimpleOperation<Int>) -> Operation in [
      { $0.map { $0 } }, { all([$0]) }, { $0.exclusive("x") },
    ] {
      let download = succeeding(1)
      let composite = CompositeOperation(operations: [wrap(download), download])
      composite.maxConcurrentOperationCount = 1
      #expect(await outcomeOfStarting(composite).value != nil)
    }
  }

  @Test("The limit is still kept, and no wrapper starts before its operation can")
  func limitTwo_wrappersOfDependents_keepTheLimit() async {
    let gauge = ConcurrencyGauge()
    let downloads = (0..<20).map { number in
      AsyncOperation<Int> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }
    }
    let parses = downloads.map { download in
      let parse = AsyncOperation<Int> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return 0
      }
      parse.addDependency(download)
      return CompositeOperation(operations: [parse.map { $0 }])
    }
    let composite = CompositeOperation(operations: parses + downloads)
    composite.maxConcurrentOperationCount = 2
    #expect(await outcomeOfStarting(composite).value != nil)
    #expect(gauge.maximum <= 2)
  }

  @Test("A composite of which one child can start is started: what depends on that child runs")
  func limitTwo_compositeWithStartableChild_starts() async {
    let other = succeeding(0)
    let download = succeeding(1)
    download.addDependency(other)
    let composite = CompositeOperation(
      operations: [CompositeOperation(operations: [parse(after: download), other]), download])
    composite.maxConcurrentOperationCount = 2
    #expect(await outcomeOfStarting(composite).value != nil)
  }

  @Test("A composite whose children wait for different siblings starts when the first of them can")
  func limitOne_compositeWaitingForSeveralSiblings_startsWithTheFirst() async {
    let (first, second) = (succeeding(1), succeeding(2))
    let (early, late) = (parse(after: second), parse(after: first))
    first.addDependency(early)
    let composite = CompositeOperation(operations: [CompositeOperation(operations: [late, early]), second, first])
    composite.maxConcurrentOperationCount = 2
    #expect(await outcomeOfStarting(composite).value != nil)
  }

  enum Release: CaseIterable {
    case cancelOfWrapper, cancelOfOperation, settledByHand, removedDependency
  }

  @Test("While it waits outside: cancelled, settled by hand, its dependency removed", arguments: Release.allCases)
  func waitingOutside_released_isStarted(release: Release) async {
    let download = HeldOperation<Int>("download")
    let parse = parse(after: download)
    let wrapper = parse.settled().map { $0.value ?? -1 }
    let composite = CompositeOperation(operations: [wrapper, download])
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    await download.started.wait()
    #expect(!wrapper.isExecuting)
    composite.maxConcurrentOperationCount = 2
    switch release {
    case .cancelOfWrapper: wrapper.cancel()
    case .cancelOfOperation: parse.cancel()
    case .settledByHand: parse.finish(with: 5)
    case .removedDependency: parse.removeDependency(download)
    }
    let outcome = await settled(wrapper)
    switch release {
    case .cancelOfWrapper: #expect(outcome.isCancelled)
    case .cancelOfOperation: #expect(outcome.value == -1)
    case .settledByHand: #expect(outcome.value == 5)
    case .removedDependency: #expect(outcome.value == 2)
    }
    #expect(!download.isFinished)
    download.finish(with: 1)
    _ = await settled(composite)
  }

  @Test("The composite is cancelled while a wrapper waits outside: it never runs, and the composite settles")
  func cancelOfComposite_wrapperWaitsOutside_settlesIt() async {
    let never = HeldOperation<Int>("never")
    let parse = parse(after: never)
    let wrapper = parse.map { $0 }
    let composite = CompositeOperation(operations: [wrapper])
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    #expect(!composite.isFinished)
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(wrapper.outcome?.isCancelled == true && parse.outcome?.isCancelled == true)
  }

  // MARK: - Circles through a place

  private func isCircle(_ error: (any Error)?, naming names: String...) -> Bool {
    let text = "\(error.map { "\($0)" } ?? "")"
    return text.contains("each waits for the next one") && names.allSatisfy { text.contains("“\($0)”") }
  }

  @Test(
    "A composite starts with one child, and another waits for a later sibling: an error names them", arguments: 1...3)
  func composite_waitingInItsPlaceForASibling_fails(limit: Int) async {
    let download = succeeding(1, named: "download")
    let albums = (0..<limit).map { number in
      let album = CompositeOperation(operations: [succeeding(0), parse(after: download)])
      album.name = "album \(number)"
      return album
    }
    let composite = CompositeOperation(operations: albums + [download])
    composite.maxConcurrentOperationCount = limit
    let error = await outcomeOfStarting(composite).error
    #expect(isCircle(error, naming: "parse", "download"), "\(String(describing: error))")
    #expect(download.isFinished)
  }

  @Test("The same under .waitForAll: what is outside of the circle runs")
  func composite_waitingInItsPlaceForASibling_underWaitForAll_fails() async {
    let download = succeeding(1, named: "download")
    let album = CompositeOperation(operations: [succeeding(0), parse(after: download)])
    album.name = "album"
    let composite = CompositeOperation(operations: [album, download])
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = .waitForAll
    let error = await outcomeOfStarting(composite).error
    #expect(isCircle(error, naming: "album", "parse", "download"), "\(String(describing: error))")
    #expect(download.outcome?.value == 1)
  }

  @Test("A later step, a second operation of then, a timeout that wait for a later sibling", arguments: 0..<3)
  func innerOperation_waitingInItsPlaceForASibling_fails(form: Int) async {
    let download = succeeding(1, named: "download")
    let parse = parse(after: download)
    let inner: Operation =
      switch form {
      case 0: CompositeOperation(sequence: LinearSequence({ _ in succeeding(0) }, { _ in parse }))
      case 1: succeeding(0).then { _ in parse }
      default: parse.timeout(.seconds(86_400))
      }
    let composite = CompositeOperation(operations: [inner, download])
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = .waitForAll
    let error = await outcomeOfStarting(composite).error
    #expect(isCircle(error, naming: "parse", "download"), "\(String(describing: error))")
    #expect(download.outcome?.value == 1)
  }

  @Test("In all(_:maxConcurrent:) around composites, several levels deep")
  func nestedComposite_waitingInAnOuterPlace_fails() async {
    let download = succeeding([1] as [any Sendable], named: "download")
    var inner = CompositeOperation(operations: [succeeding(0), parse(after: download)])
    for _ in 0..<3 { inner = CompositeOperation(operations: [succeeding(0), inner]) }
    let outer = all([inner.map { $0 }, download], maxConcurrent: 1)
    let error = await outcomeOfStarting(outer).error
    #expect(isCircle(error, naming: "parse", "download"), "\(String(describing: error))")
  }

  @Test("The sibling becomes ready when all places wait for it: it fails")
  func sibling_readyWhenAllPlacesWaitForIt_fails() async {
    let login = HeldOperation<Int>("login")
    let download = succeeding(1, named: "download")
    download.addDependency(login)
    let begun = Gate()
    let parse = parse(after: download)
    let album = CompositeOperation(operations: [SimpleOperation<Void> { begun.open() }, parse])
    let composite = CompositeOperation(operations: [download, album])
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = .waitForAll
    await onWorker {
      login.start()
      composite.start()
    }
    await begun.wait()
    login.finish(with: 1)
    let error = await outcomeOfStarting(composite).error
    #expect(isCircle(error, naming: "parse", "download"), "\(String(describing: error))")
  }

  @Test("Places that other operations will free: no circle")
  func places_thatWillBeFreed_areNoCircle() async {
    let held = HeldOperation<Int>()
    let download = succeeding(1, named: "download")
    let album = CompositeOperation(operations: [succeeding(0), parse(after: download)])
    let composite = CompositeOperation(operations: [held, album, download])
    composite.maxConcurrentOperationCount = 2
    await onWorker { composite.start() }
    await held.started.wait()
    held.finish(with: 0)
    #expect(await settled(composite).value != nil)
  }
}
