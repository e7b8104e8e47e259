import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The locks and the thread-local storage that everything else is built on.
@Suite("3.4 Locks and thread locals", .hangLimit)
struct LocksTests {
  private final class Counter: @unchecked Sendable {  // only touched under the lock that is tested
    var value = 0
  }

  private struct Failure: Error {}

  @Test("A lock box loses no update of four threads")
  func lockBox_fourThreads_excludeEachOther() async {
    let box = LockBox(0)
    await onThreads(4) { for _ in 0..<20_000 { box.withLock { $0 += 1 } } }
    #expect(box.withLock { $0 } == 80_000)
  }

  @Test("A striped lock loses no update of four threads to one object")
  func stripedLock_fourThreads_excludeEachOther() async {
    let counter = Counter()
    await onThreads(4) { for _ in 0..<20_000 { StripedLock.withLock(of: counter) { counter.value += 1 } } }
    #expect(StripedLock.withLock(of: counter) { counter.value } == 80_000)
  }

  @Test("Striped locks of many objects are independent of each other's state")
  func stripedLock_manyObjects_countsEach() async {
    let counters = (0..<200).map { _ in Counter() }
    await onThreads(4) {
      for counter in counters { StripedLock.withLock(of: counter) { counter.value += 1 } }
    }
    #expect(counters.allSatisfy { counter in StripedLock.withLock(of: counter) { counter.value } == 4 })
  }

  @Test("A body that throws releases the lock and keeps its changes")
  func lockBox_bodyThrows_isUnlocked() {
    let box = LockBox(1)
    let counter = Counter()
    #expect(throws: Failure.self) {
      try box.withLock { value in
        value = 2
        throw Failure()
      }
    }
    #expect(throws: Failure.self) { try StripedLock.withLock(of: counter) { throw Failure() } }
    #expect(box.withLock { $0 } == 2)
    StripedLock.withLock(of: counter) { counter.value = 3 }
    #expect(counter.value == 3)
  }

  @Test("A thread sees one object, another thread another, and each key its own")
  func threadLocal_twoThreads_seeTheirOwn() async {
    let local = ThreadLocal { Counter() }
    let other = ThreadLocal { Counter() }
    let identities = await onThreads(3) {
      let mine = local.current
      return [ObjectIdentifier(mine), ObjectIdentifier(local.current), ObjectIdentifier(other.current)]
    } whileAllLive: {
      $0
    }
    #expect(identities.allSatisfy { $0[0] == $0[1] && $0[0] != $0[2] })
    #expect(Set(identities.flatMap { $0 }).count == 6)
  }

  @Test("The object of a thread is released when the thread ends")
  func threadLocal_threadEnds_releasesObject() async {
    let released = Gate()
    let local = ThreadLocal { ReleaseProbe(released) }
    let isLive = await onThread {
      local.current.touch()
      return !released.isOpen
    }
    #expect(isLive)
    await released.wait()
  }

  /// Runs the body on that many new threads at once, and returns when all have ended it.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable () -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask { await onThread { body() } } }
    }
  }

  /// The same with results, and no thread ends before all have a result.
  private func onThreads<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable () -> Result,
    whileAllLive transform: @escaping @Sendable (Result) -> Result
  ) async -> [Result] {
    let arrived = Locked(0)
    let all = Gate()
    return await withTaskGroup(of: Result.self) { group in
      for _ in 0..<count {
        group.addTask {
          await onThread {
            let result = body()
            if arrived.increment() == count { all.open() }
            all.waitBlocking()
            return transform(result)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }
}
