import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The order of a monitor's calls for a child, with other events in between.
@Suite("CompositionMonitor", .hangLimit)
struct CompositionMonitorTests {
  /// The ways of composing an operation that wait for one that other code has started.
  enum Kind: CaseIterable, Sendable {
    case map, then, recover, zip, all, firstSuccess

    func make(_ child: SimpleOperation<Int>) -> SettlingOperation {
      switch self {
      case .map: child.map { $0 }
      case .then: child.then { succeeding($0) }
      case .recover: child.recover { _ in succeeding(0) }
      case .zip: CompositeOperations.zip(child)
      case .all: CompositeOperations.all([child])
      case .firstSuccess: CompositeOperations.firstSuccess(of: [child])
      }
    }
  }

  /// A composition with one child, and the calls of a monitor. Another monitor is called first, and
  /// calls `act` with the event.
  private struct Watched {
    let owner: SettlingOperation
    let recorder = EventRecorder<String>()

    init(
      _ kind: Kind, _ child: SimpleOperation<Int>,
      act: @escaping @Sendable (String, SettlingOperation?) -> Void = { _, _ in }
    ) {
      let owner = kind.make(child)
      let recorder = recorder
      self.owner = owner
      owner.composition?.addMonitor(RecordingMonitor { event, _ in recorder.record(event) }, isInherited: false)
      owner.composition?.addMonitor(RecordingMonitor { [weak owner] event, _ in act(event, owner) }, isInherited: false)
      (owner as? any CompletionSettable)?.whenComplete { recorder.record("end") }
    }

    func events() async -> [String] {
      await recorder.wait(for: "end")
      return recorder.events
    }
  }

  @Test(
    "Cancelled while the start of a child is told, a composition tells of the settlement afterwards, and then ends",
    arguments: Kind.allCases, [true, false])
  func cancel_whileStartIsTold_settlementFollows(_ kind: Kind, isTheirs: Bool) async {
    let child = HeldOperation<Int>(settlesWhenCancelled: true)
    if isTheirs { child.start() }
    let watched = Watched(kind, child) { event, owner in if event == "started" { owner?.cancel() } }
    watched.owner.start()
    #expect(await watched.events() == ["added", "started", "settled", "end"])
    #expect(watched.owner.anyOutcome?.isCancelled == true)
    #expect(child.isCancelled == !isTheirs)
    child.finish(with: 1)
    #expect(watched.recorder.count == 4)
  }

  @Test(
    "Cancelled while the settlement of a child is told, a composition ends when all monitors have been told",
    arguments: Kind.allCases, [true, false])
  func cancel_whileSettlementIsTold_endFollows(_ kind: Kind, isTheirs: Bool) async {
    let child = HeldOperation<Int>()
    if isTheirs { child.start() }
    let watched = Watched(kind, child) { event, owner in if event == "settled" { owner?.cancel() } }
    watched.owner.start()
    await watched.recorder.wait(for: "started")
    child.finish(with: 1)
    #expect(await watched.events() == ["added", "started", "settled", "end"])
    #expect(watched.owner.anyOutcome?.isCancelled == true)
    #expect(child.result == 1)
  }

  @Test(
    "Cancelled while it waits for a child that it did not start, a composition says so before it ends",
    arguments: Kind.allCases)
  func cancel_whileTheirsIsWaitedFor_settlementIsTold(_ kind: Kind) async {
    let child = HeldOperation<Int>()
    child.start()
    let watched = Watched(kind, child)
    let composition = watched.owner.composition
    watched.owner.start()
    await until(composition?.waitsForTheirs == true)
    watched.owner.cancel()
    #expect(await watched.events() == ["added", "started", "settled", "end"])
    child.finish(with: 1)
    #expect(watched.recorder.count == 4)
    #expect(child.result == 1)
  }
}

/// Calls a closure with each event.
private final class RecordingMonitor: CompositionMonitor {
  private let record: @Sendable (String, Operation) -> Void

  init(_ record: @escaping @Sendable (String, Operation) -> Void) {
    self.record = record
  }

  func composition(_ composition: Composition, didAdd child: Operation, tag: Int) { record("added", child) }
  func composition(_ composition: Composition, willStart child: Operation, tag: Int) { record("started", child) }
  func composition(_ composition: Composition, didSettle child: Operation, tag: Int) { record("settled", child) }
}

/// An operation whose completion can be set without its value's type.
private protocol CompletionSettable: SettlingOperation {
  func whenComplete(_ body: @escaping @Sendable () -> Void)
}

extension SimpleOperation: CompletionSettable {
  fileprivate func whenComplete(_ body: @escaping @Sendable () -> Void) { completion = { _ in body() } }
}

extension Composition {
  /// Whether the composition waits for a child that other code started.
  fileprivate var waitsForTheirs: Bool {
    table.withLock { table in
      switch table.kind {
      case .steps: table.step.phase == .joined
      case .list: (0..<count).contains { table.phase(of: $0) == .joined }
      case .tags: table.entries.contains { $0.phase == .joined }
      }
    }
  }
}
