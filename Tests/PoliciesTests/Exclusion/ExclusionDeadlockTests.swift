import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations that hold a category while operations inside them wait for another.
@Suite("8 Mutual exclusion: circles", .hangLimit)
struct ExclusionDeadlockTests {
  private let registry = ExclusionRegistry()

  /// An operation named `name` that holds `outer` and, once `gate` is open, requests `inner`.
  ///
  /// - Parameter isWholeNamed: whether the names are those of what `exclusive` returns.
  private func holder(
    _ name: String, of outer: ExclusionCategory, then inner: ExclusionCategory, holding: Gate, _ gate: Gate,
    isWholeNamed: Bool = false
  ) -> SimpleOperation<Int> {
    let waits = SimpleOperation<Int> { operation in
      holding.open()
      gate.whenOpen { operation.finish(with: 1) }
    }
    let leaf = succeeding(2)
    let body = waits.then { [registry] _ in
      let inside = leaf.exclusive(inner, in: registry)
      (isWholeNamed ? inside : leaf).name = "inside \(name)"
      return inside
    }
    let whole = body.exclusive(outer, in: registry)
    (isWholeNamed ? whole : body).name = name
    return whole
  }

  @Test(arguments: [false, true])
  func circle_isFoundByTheRequestThatClosesIt(isWholeNamed: Bool) async throws {
    let gates = (0..<4).map { _ in Gate() }
    let first = holder("A", of: "x", then: "y", holding: gates[0], gates[1], isWholeNamed: isWholeNamed)
    let second = holder("B", of: "y", then: "x", holding: gates[2], gates[3], isWholeNamed: isWholeNamed)
    await onWorker { first.start() }
    await gates[0].wait()
    await onWorker { second.start() }
    await gates[2].wait()
    gates[1].open()
    #expect(await registry.reaches(waiting: 1))
    gates[3].open()
    let error = await settled(second).error
    #expect(await settled(first).value == 2)
    let deadlock = try #require(error as? ExclusionError)
    #expect(deadlock.code == .deadlock)
    let circle = deadlock.circle
    #expect(circle.map(\.category) == ["x", "y"])
    #expect(circle[0].operation.contains("inside B") && circle[0].holder.contains("“A”"))
    #expect(circle[1].operation.contains("inside A") && circle[1].holder.contains("“B”"))
    let text = "\(try #require(error))"
    #expect(text.contains("“inside B”") && text.contains("waits for “x”, which “A”") && text.contains("at once"))
    #expect(registry.isUnused)
  }

  @Test func circle_thatIsCancelledInstead_isNone() async {
    let gates = (0..<4).map { _ in Gate() }
    let first = holder("A", of: "x", then: "y", holding: gates[0], gates[1])
    let second = holder("B", of: "y", then: "x", holding: gates[2], gates[3])
    await onWorker { first.start() }
    await gates[0].wait()
    await onWorker { second.start() }
    await gates[2].wait()
    gates[1].open()
    #expect(await registry.reaches(waiting: 1))
    first.cancel()
    #expect(await settled(first).isCancelled)
    gates[3].open()
    #expect(await settled(second).value == 2)
    #expect(registry.isUnused)
  }

  @Test func descendant_goesAheadOfThoseThatWaitForTheHolder() async {
    let gates = (0..<2).map { _ in Gate() }
    let first = holder("A", of: "x", then: "y", holding: gates[0], gates[1])
    await onWorker { first.start() }
    await gates[0].wait()
    let both = succeeding(3).exclusive("x", "y", in: registry)
    await onWorker { both.start() }
    #expect(await registry.reaches(waiting: 1))
    gates[1].open()
    #expect(await settled(first).value == 2)
    #expect(await settled(both).value == 3)
  }

  @Test func lowerLimit_thatClosesACircle_failsOne() async {
    registry.setLimit(2, for: "x")
    let gates = (0..<4).map { _ in Gate() }
    let first = holder("A", of: "x", then: "y", holding: gates[0], gates[1])
    let second = holder("B", of: "y", then: "x", holding: gates[2], gates[3])
    let third = HeldOperation<Int>("C")
    let free = third.exclusive("x", in: registry)
    await onWorker { first.start() }
    await onWorker { second.start() }
    await onWorker { free.start() }
    for gate in [gates[0], gates[2], third.started] { await gate.wait() }
    gates[1].open()
    #expect(await registry.reaches(waiting: 1))
    gates[3].open()
    #expect(await registry.reaches(waiting: 2))
    // Two hold it; when C releases it there is still no room.
    registry.setLimit(1, for: "x")
    let failed = await settled(second).error ?? nil
    #expect(failed is ExclusionError)
    #expect(await settled(first).value == 2)
    third.finish(with: 1)
    #expect(await settled(free).value == 1)
    #expect(registry.isUnused)
  }
}
