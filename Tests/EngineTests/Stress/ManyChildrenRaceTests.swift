import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Events while several threads are in the middle of thousands of children, each taking neighbours.
@Suite("3.4 Thousands of children, and something happens among them")
struct ManyChildrenRaceTests {
  private static let count = 5_000
  private static let rounds = Scale.count(40, least: 2)

  /// What an event does; called in a child.
  private typealias Event = @Sendable (CompositeOperation) -> Void

  /// Runs a composite in which the events happen in children at random places, and returns it with
  /// the number of bodies that ran.
  private func run(_ events: [Event]) async -> (composite: CompositeOperation, bodies: Int) {
    let itself = Locked<CompositeOperation?>(nil)
    let bodies = Locked(0)
    let places = Dictionary(uniqueKeysWithValues: zip((0..<Self.count).shuffled(), events))
    let children = (0..<Self.count).map { number in
      let event = places[number]
      return SimpleOperation<Int> { operation in
        bodies.increment()
        if let event, let composite = itself.current { event(composite) }
        if number % 7 == 0 {
          DispatchQueue.global().async { operation.finish(with: number) }
        } else {
          operation.finish(with: number)
        }
      }
    }
    let composite = CompositeOperation(operations: children)
    itself.withLock { $0 = composite }
    composite.start()
    _ = await settled(composite)
    itself.withLock { $0 = nil }
    return (composite, bodies.current)
  }

  @Test("A limit that is set and taken back: each child runs once, and all are counted")
  func limit_changedMidway_allRunOnce() async {
    for _ in 0..<Self.rounds {
      let changes = [1, 3, OperationQueue.defaultMaxConcurrentOperationCount, 2].map { limit -> Event in
        { $0.maxConcurrentOperationCount = limit }
      }
      let (composite, bodies) = await run(changes.shuffled())
      #expect(bodies == Self.count)
      #expect(composite.outcome?.value as? [Int] == Array(0..<Self.count))
    }
  }

  @Test("After a limit was set, and the children handed out before have started, it is never exceeded")
  func limit_setMidway_holdsFromThenOn() async {
    for _ in 0..<Self.rounds {
      let itself = Locked<CompositeOperation?>(nil)
      let place = Int.random(in: 0..<Self.count / 2)
      // How many were in flight whenever one started, and how many had started when the limit was
      // set.
      let seen = Locked((current: 0, whenStarting: [Int](), whenSet: 0))
      let children = (0..<Self.count).map { number in
        SimpleOperation<Int> { operation in
          seen.withLock { seen in
            seen.current += 1
            seen.whenStarting.append(seen.current)
          }
          if number == place {
            itself.current?.maxConcurrentOperationCount = 2
            seen.withLock { $0.whenSet = $0.whenStarting.count }
          }
          DispatchQueue.global().async {
            seen.withLock { $0.current -= 1 }
            operation.finish(with: number)
          }
        }
      }
      let composite = CompositeOperation(operations: children)
      itself.withLock { $0 = composite }
      composite.start()
      #expect(await settled(composite).value?.count == Self.count)
      itself.withLock { $0 = nil }
      // Each thread may have claimed one before.
      let (_, whenStarting, whenSet) = seen.current
      #expect(whenStarting.dropFirst(whenSet + 100).max() ?? 0 <= 2)
    }
  }

  @Test("Suspended and resumed: each child runs once, and all are counted")
  func suspension_midway_allRunOnce() async {
    for _ in 0..<Self.rounds {
      let suspend: Event = { composite in
        composite.isSuspended = true
        DispatchQueue.global().async { composite.isSuspended = false }
      }
      let (composite, bodies) = await run([suspend, suspend, suspend])
      #expect(bodies == Self.count)
      #expect(composite.outcome?.value as? [Int] == Array(0..<Self.count))
    }
  }

  @Test("Cancelled: all children finish, and those that did not run are cancelled")
  func cancel_midway_allFinish() async {
    for _ in 0..<Self.rounds {
      let (composite, bodies) = await run([{ $0.cancel() }, { $0.cancel() }])
      #expect(composite.outcome?.isCancelled == true)
      #expect(composite.operations.allSatisfy { $0.isFinished })
      #expect(composite.childOutcomes.count { $0?.isCancelled != true } <= bodies)
    }
  }

  @Test("A limit and a cancel at the same time: all children finish")
  func limitAndCancel_midway_allFinish() async {
    for _ in 0..<Self.rounds {
      let (composite, _) = await run([{ $0.cancel() }, { $0.maxConcurrentOperationCount = 2 }])
      #expect(composite.outcome?.isCancelled == true)
      #expect(composite.operations.allSatisfy { $0.isFinished })
    }
  }

  @Test("Neighbours that wait for each other among thousands finish")
  func pairs_amongMany_finish() async {
    for _ in 0..<max(1, Self.rounds / 8) {
      let pairs = Set((0..<4).map { _ in Int.random(in: 0..<Self.count / 2) })
      let children = (0..<Self.count / 2).flatMap { number -> [SimpleOperation<Int>] in
        guard pairs.contains(number) else { return [succeeding(2 * number), succeeding(2 * number + 1)] }
        let opened = DispatchSemaphore(value: 0)
        return [
          SimpleOperation { operation in
            opened.wait()
            operation.finish(with: 2 * number)
          },
          SimpleOperation { operation in
            opened.signal()
            operation.finish(with: 2 * number + 1)
          },
        ]
      }
      let composite = CompositeOperation(operations: children)
      composite.start()
      #expect(await settled(composite).value as? [Int] == Array(0..<Self.count))
    }
  }
}
