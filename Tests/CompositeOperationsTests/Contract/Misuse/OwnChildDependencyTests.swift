import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Compositions that depend on an operation inside them, which only they would start.
@Suite("3.2 Compositions that depend on their own child", .hangLimit)
struct OwnChildDependencyTests {
  enum Kind: CaseIterable {
    case composite, nestedComposite, map, settled, then, condition, exclusive, timeout, all, mapOfMap

    func make(around child: SimpleOperation<Int>) -> SettlingOperation {
      switch self {
      case .composite: CompositeOperation(operations: [succeeding(0), child])
      case .nestedComposite: CompositeOperation(operations: [CompositeOperation(operations: [child.map { $0 }])])
      case .map: child.map { $0 }
      case .settled: child.settled()
      case .then: child.then { succeeding($0) }
      case .condition: child.condition(.noFailedDependencies)
      case .exclusive: child.exclusive("file", in: ExclusionRegistry())
      case .timeout: child.timeout(.seconds(86_400))
      case .all: CompositeOperations.all([child])
      case .mapOfMap: child.map { $0 }.map { $0 }
      }
    }
  }

  enum Place: CaseIterable {
    case root, startedByHand, observed, queue, queueRun, sequence, parallel, limited
  }

  @Test("It fails with an error that names both, and its child is cancelled", arguments: Kind.allCases, Place.allCases)
  func composition_dependingOnItsChild_failsWithTheCircle(kind: Kind, place: Place) async throws {
    let recorder = EventRecorder<String>()
    let child = succeeding(1, named: "child", recorder: recorder)
    let composition = kind.make(around: child)
    composition.name = "album"
    composition.addDependency(child)
    let queue = OperationQueue(limit: 1)
    switch place {
    case .root: Task { try? await Self.run(composition) }
    case .startedByHand: await onWorker { composition.start() }
    case .observed:
      composition.addObserver { if $0.kind == .settled { recorder.record("settled") } }
      await onWorker { composition.start() }
    case .queue: queue.addOperation(composition)
    case .queueRun: Task { try? await Self.run(composition, in: queue) }
    case .sequence: CompositeOperation(sequence: LinearSequence({ _ in composition })).start()
    case .parallel: CompositeOperation(operations: [composition]).start()
    case .limited:
      let outer = CompositeOperation(operations: [composition, succeeding(0)])
      outer.maxConcurrentOperationCount = 1
      outer.start()
    }
    await finished(composition)
    let text = "\(composition.anyOutcome?.error.map { "\($0)" } ?? "")"
    #expect(text.contains("each waits for the next one"), "\(text)")
    #expect(text.contains("“album”") && text.contains("“child”"), "\(text)")
    await finished(child)
    #expect(child.outcome?.isCancelled == true)
    #expect(recorder.events == (place == .observed ? ["settled"] : []))
    let next = succeeding(3)
    queue.addOperation(next)
    #expect(await settled(next).value == 3)
  }

  private static func run(_ operation: Operation, in queue: OperationQueue? = nil) async throws {
    func run<O: ComposableOperation>(_ operation: O) async throws {
      if let queue { _ = try await queue.run(operation) } else { _ = try await operation.run() }
    }
    if let operation = operation as? any ComposableOperation { try await run(operation) }
  }

  @Test("A child that other code starts is awaited", arguments: [true, false])
  func composition_dependingOnAChildThatOthersStart_waitsForIt(isQueued: Bool) async {
    let child = succeeding(1)
    let queue = OperationQueue(limit: 1, suspended: true)
    let map = child.map { $0 + 1 }
    map.addDependency(child)
    if isQueued { queue.addOperation(child) }
    let root = CompositeOperation(operations: isQueued ? [map] : [map, child])
    await onWorker { root.start() }
    queue.isSuspended = false
    #expect(await settled(map).value == 2)
  }

  @Test("The dependency is removed before the start: the composition runs")
  func composition_whoseDependencyOnItsChildWasRemoved_runs() async {
    let child = succeeding(1)
    let map = child.map { $0 + 1 }
    map.addDependency(child)
    map.removeDependency(child)
    #expect(await outcomeOfStarting(map).value == 2)
  }
}
