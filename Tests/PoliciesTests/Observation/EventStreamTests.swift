import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("8 Event streams", .hangLimit)
struct EventStreamTests {
  @Test func stream_ofOperation_givesEverythingAndEnds() async {
    let operation = SimpleOperation<Int> { operation in
      operation.reportProgress(0.5)
      operation.finish(with: 1)
    }
    let first = operation.events()
    let second = operation.events(bufferingPolicy: .unbounded)
    operation.start()
    for stream in [first, second] {
      var events: [String] = []
      for await event in stream { events.append("\(event)") }
      #expect(events == ["started", "progress: 0.5", "settled: success(1)"])
    }
  }

  @Test func stream_ofSettledOperation_givesTheEnd() async {
    let operation = succeeding(1)
    operation.start()
    var events: [String] = []
    for await event in operation.events() { events.append("\(event)") }
    #expect(events == ["settled: success(1)"])
  }

  @Test func stream_readSlowly_keepsTheNewest() async {
    let operation = HeldOperation<Int>()
    let stream = operation.events(bufferingPolicy: .bufferingNewest(1))
    operation.start()
    operation.finish(with: 1)
    var events: [String] = []
    for await event in stream { events.append("\(event), \(event.droppedCount) dropped") }
    #expect(events == ["settled: success(1), 1 dropped"])
  }

  @Test func stream_notRead_keepsTheNewest1024AndCountsTheOthers() async {
    let composite = CompositeOperation(operations: (0..<3_000).map { succeeding($0) })
    let events = composite.events()
    let all = composite.events(bufferingPolicy: .unbounded)
    _ = await outcomeOfStarting(composite)
    var total = 0
    for await event in all where event.droppedCount == 0 { total += 1 }
    #expect(total >= 3_002)
    var dropped: [Int] = []
    for await event in events { dropped.append(event.droppedCount) }
    #expect(dropped == Array(repeating: total - 1_024, count: 1_024))
  }

  @Test func stream_keepingTheOldest_countsWhatIsMissingBeforeEachEvent() async {
    let operation = HeldOperation<Int>()
    var events = operation.events(bufferingPolicy: .bufferingOldest(2)).makeAsyncIterator()
    operation.start()
    for fraction in [0.125, 0.25, 0.375] { operation.reportProgress(fraction) }
    var seen: [String] = []
    for _ in 0..<2 { if let event = await events.next() { seen.append("\(event), \(event.droppedCount)") } }
    operation.finish(with: 1)
    while let event = await events.next() { seen.append("\(event), \(event.droppedCount)") }
    #expect(seen == ["started, 0", "progress: 0.125, 0", "settled: success(1), 2"])
  }

  @Test func stream_ofReleasedOperation_ends() async {
    let stream = SimpleOperation<Int> { $0.finish(with: 1) }.events()
    var count = 0
    for await _ in stream { count += 1 }
    #expect(count == 0)
  }

  @Test func stream_ofReleasedComposition_ends_whileItsPartRunsElsewhere() async {
    let part = HeldOperation<Int>()
    await onWorker { part.start() }
    let stream = all([part]).events()
    var count = 0
    for await _ in stream { count += 1 }
    #expect(count == 0)
    part.finish(with: 1)
  }

  @Test func stream_dropped_leaves() {
    let operation = HeldOperation<Int>()
    operation.cancelsWhenLastObserverLeaves = true
    _ = operation.events()
    #expect(operation.isCancelled)
  }

  @Test func loop_leftWithBreak_leaves() async {
    let operation = HeldOperation<Int>(settlesWhenCancelled: true)
    operation.cancelsWhenLastObserverLeaves = true
    await EventStreamTests.readOne(operation)
    await operation.cancelRequested.wait()
  }

  private static func readOne(_ operation: HeldOperation<Int>) async {
    for await _ in EventStreamTests.starting(operation) { break }
  }

  private static func starting(_ operation: HeldOperation<Int>) -> AsyncStream<OperationEvent> {
    let stream = operation.events()
    operation.start()
    return stream
  }
}
