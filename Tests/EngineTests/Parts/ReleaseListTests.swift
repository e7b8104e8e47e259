import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Releasing deeply nested owners iteratively.
@Suite("3.4 ReleaseList and NestedResults", .hangLimit)
struct ReleaseListTests {
  /// One of many that own each other in a row, or as a tree.
  private final class Link: @unchecked Sendable {  // one thread at a time
    private var owned: [Link]?
    private let onRelease: () -> Void

    init(owning owned: [Link] = [], onRelease: @escaping () -> Void = {}) {
      self.owned = owned
      self.onRelease = onRelease
    }

    deinit {
      onRelease()
      ReleaseList.release(&owned)
    }
  }

  @Test("A chain of 200,000 is released on a stack of 512 KiB, all of it before the first release returns")
  func release_longChain_usesConstantStack() async {
    let released = await onThread {
      var count = 0
      withoutActuallyEscaping({ count += 1 }) { counting in
        var chain: Link? = Link(onRelease: counting)
        for _ in 1..<200_000 { chain = Link(owning: [chain!], onRelease: counting) }
        ReleaseList.release(&chain)
        precondition(chain == nil)
      }
      return count
    }
    #expect(released == 200_000)
  }

  @Test("A hundred thousand operations that never ran, each held by the closure of the next", arguments: [true, false])
  func unstarted_heldByClosures_areReleasedOnASmallStack(isAsync: Bool) async {
    let first = await onThread {
      var last = SimpleOperation<Int> { 0 }
      let first = WeakReference(last)
      for _ in 0..<100_000 {
        let previous = last
        last =
          isAsync
          ? AsyncOperation { (previous.outcome?.value ?? 0) + 1 }
          : SimpleOperation { (previous.outcome?.value ?? 0) + 1 }
      }
      return first
    }
    #expect(first.object == nil)
  }

  @Test("Of a tree everything is released, once")
  func release_tree_releasesEachOnce() {
    var released: [Int] = []
    withoutActuallyEscaping({ (number: Int) in released.append(number) }) { record in
      func tree(_ number: Int, depth: Int) -> Link {
        let owned = depth == 0 ? [] : (0..<3).map { tree(number * 3 + $0 + 1, depth: depth - 1) }
        return Link(owning: owned) { record(number) }
      }
      var root: Link? = tree(0, depth: 5)
      ReleaseList.release(&root)
    }
    #expect(released.sorted() == Array(0..<364))
    #expect(released.first == 0)
  }

  @Test("An object with another reference stays; releasing nothing does nothing")
  func release_sharedOrNil_keepsTheOther() {
    var released = 0
    withoutActuallyEscaping({ released += 1 }) { counting in
      let shared = Link(onRelease: counting)
      var reference: Link? = shared
      ReleaseList.release(&reference)
      ReleaseList.release(&reference)
      withExtendedLifetime(shared) {}
    }
    #expect(released == 1)
  }

  @Test("Operations are released, whether they are compositions or not", arguments: [true, false])
  func release_operations_releasesAll(nested: Bool) {
    var operations: [Operation] = (0..<3).map { _ in SimpleOperation<Int>() }
    if nested { operations.append(CompositeOperation(operations: [SimpleOperation<Int>()])) }
    let references = operations.map(WeakReference.init)
    ReleaseList.release(&operations)
    #expect(operations.isEmpty)
    #expect(references.allSatisfy { $0.object == nil })
  }

  @Test("Each thread has a list of its own")
  func release_onFourThreads_releasesAll() async {
    let released = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          await onThread {
            for _ in 0..<200 {
              var chain: Link? = Link { released.increment() }
              for _ in 0..<20 { chain = Link(owning: [chain!]) { released.increment() } }
              ReleaseList.release(&chain)
            }
          }
        }
      }
    }
    #expect(released.current == 4 * 200 * 21)
  }
}

/// Releasing results that hold results.
@Suite("3.4 NestedResults", .hangLimit)
struct NestedResultsTests {
  private final class Value: Sendable {}

  @Test("Results nested 200,000 deep are released on a stack of 512 KiB")
  func release_deepResults_usesConstantStack() async {
    let isEmpty = await onThread {
      var results: [any Sendable] = [1]
      for _ in 0..<200_000 { results = [results] }
      NestedResults.release(&results)
      return results.isEmpty
    }
    #expect(isEmpty)
  }

  @Test("Everything that was among the results is released: in any place, at any depth, next to other values")
  func release_tree_releasesAll() {
    var references: [WeakReference<Value>] = []
    func results(depth: Int) -> [any Sendable] {
      let value = Value()
      references.append(WeakReference(value))
      guard depth > 0 else { return [1, value] }
      return ["a", results(depth: depth - 1), value, results(depth: depth - 1), (), [any Sendable]()]
    }
    var all = results(depth: 4)
    #expect(references.count == 31 && references.allSatisfy { $0.object != nil })
    NestedResults.release(&all)
    #expect(all.isEmpty)
    #expect(references.allSatisfy { $0.object == nil })
  }

  @Test("Shared results are left unchanged, as a whole or in part")
  func release_sharedResults_leavesThem() throws {
    let inner: [any Sendable] = [1, [2, 3] as [any Sendable]]
    var all: [any Sendable] = ["a", inner]
    let copy = all
    NestedResults.release(&all)
    #expect(all.isEmpty)
    #expect(copy.count == 2 && copy[0] as? String == "a")
    let kept = try #require(copy[1] as? [any Sendable])
    #expect(kept.count == 2 && kept[0] as? Int == 1)
    #expect((kept[1] as? [any Sendable])?.compactMap { $0 as? Int } == [2, 3])

    var another: [any Sendable] = [inner]
    NestedResults.release(&another)
    #expect(another.isEmpty)
    #expect((inner[1] as? [any Sendable])?.compactMap { $0 as? Int } == [2, 3])
  }

  @Test("No results at all are released, too")
  func release_empty_staysEmpty() {
    var none: [any Sendable] = []
    NestedResults.release(&none)
    #expect(none.isEmpty)
  }
}
