import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Starting, cancelling, settling, adding and removing at the same moment.
@Suite(.serialized)
struct ObserverRaceTests {
  private static let rounds = Scale.count(8_000, least: 100)

  /// Returns what is wrong with the events of one observer.
  private static func judge(_ events: [String]) -> String? {
    let isInOrder = events == events.sorted { rank($0) < rank($1) }
    return complaint(
      "\(events)", unless: isInOrder && Set(events).count == events.count && events.last?.hasPrefix("settled") == true)
  }

  private static func rank(_ event: String) -> Int {
    event == "started" ? 0 : event == "cancelled" ? 1 : 2
  }

  @Test func startCancelAndSettle_atOnce_areToldInOrder() async {
    let complaints = await Race.run(rounds: ObserverRaceTests.rounds, threads: 3) { _, random in
      let events = EventRecorder<String>()
      let operation = SimpleOperation<Int> { _ in events.record("main") }
      operation.addObserver { events.record("\($0)") }
      let settlesFirst = random.chance(50)
      return Race.Round(bodies: [
        { operation.start() }, { operation.cancel() }, { if settlesFirst { operation.finish(with: 1) } },
      ]) {
        operation.finish(with: 2)
        operation.start()
        let told = events.events
        let start = told.firstIndex(of: "started")
        let main = told.firstIndex(of: "main")
        let isCancelled = operation.outcome?.isCancelled == true
        if told.count(where: { $0 == "main" }) > 1 { return "main twice: \(told)" }
        if let main, start.map({ $0 < main }) != true { return "main before the start: \(told)" }
        if told.contains("cancelled") != isCancelled { return "cancelled, or not: \(told)" }
        return ObserverRaceTests.judge(told.filter { $0 != "main" })
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func adding_whileSettling_losesNothing() async {
    let complaints = await Race.run(rounds: ObserverRaceTests.rounds, threads: 3) { _, _ in
      let first = EventRecorder<String>()
      let second = EventRecorder<String>()
      let operation = SimpleOperation<Int> { _ in }
      return Race.Round(bodies: [
        {
          operation.start(); operation.finish(with: 1)
        }, { operation.addObserver { first.record("\($0)") } },
        { operation.addObserver { second.record("\($0)") } },
      ]) {
        ObserverRaceTests.judge(first.events) ?? ObserverRaceTests.judge(second.events)
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func removing_whileSettling_isToldAtMostOnceEachAndReleased() async {
    let complaints = await Race.run(rounds: ObserverRaceTests.rounds, threads: 2) { _, _ in
      let events = EventRecorder<String>()
      let operation = SimpleOperation<Int> { $0.finish(with: 1) }
      let (token, probe) = ObserverRaceTests.observe(operation, events)
      return Race.Round(bodies: [{ operation.start() }, { token.remove() }]) {
        complaint(
          "\(events.events)",
          unless: events.count <= 2 && Set(events.events).count == events.count && probe.object == nil)
      }
    }
    #expect(complaints.isEmpty)
  }

  private static func observe(
    _ operation: SimpleOperation<Int>, _ events: EventRecorder<String>
  ) -> (ObservationToken, WeakReference<ReleaseProbe>) {
    let probe = ReleaseProbe(Gate())
    let token = operation.addObserver { event in
      probe.touch()
      events.record("\(event)")
    }
    return (token, WeakReference(probe))
  }

  @Test func compositeWithObserver_cancelledWhileRunning_isToldInOrder() async {
    for isSequence in [false, true] {
      for _ in 0..<Scale.count(1_000, least: 50) {
        let events = EventRecorder<String>()
        let children = (0..<5).map { succeeding($0) }
        let composite =
          isSequence
          ? CompositeOperation(sequence: ListSequence(children)) : CompositeOperation(operations: children)
        composite.addObserver { event in
          switch event.kind {
          case .started, .cancelled, .settled: events.record("\(event.kind)")
          default: break
          }
        }
        async let outcome = outcomeOfStarting(composite)
        await onWorker { composite.cancel() }
        _ = await outcome
        #expect(ObserverRaceTests.judge(events.events) == nil)
      }
    }
  }
}
