import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Test kit: ManualReachabilityMonitor", .hangLimit)
struct ManualReachabilityMonitorTests {
  @Test func eachStream_beginsWithTheValueOfNow_thenTellsEachOther() async {
    let network = ManualReachabilityMonitor()
    #expect(network.isReachable)
    var first = network.reachability().makeAsyncIterator()
    network.isReachable = false
    var second = network.reachability().makeAsyncIterator()
    network.isReachable = true
    #expect(network.watcherCount == 2)
    #expect([await first.next(), await first.next(), await first.next()] == [true, false, true])
    #expect([await second.next(), await second.next()] == [false, true])
  }

  @Test func watchers_areCounted_andWaitedFor() async {
    let network = ManualReachabilityMonitor()
    await network.wait(forWatchers: 0)
    let told = EventRecorder<Bool>()
    let task = Task { for await isReachable in network.reachability() { told.record(isReachable) } }
    await network.wait(forWatchers: 1)
    await told.wait(forCount: 1)
    task.cancel()
    await network.wait(forWatchers: 0)
    #expect(network.watcherCount == 0)
    network.isReachable = false
    await task.value
    #expect(told.events == [true])
  }

  @Test func setByMany_tellsEveryWatcherTheSame() async {
    let network = ManualReachabilityMonitor()
    let streams = (0..<3).map { _ in network.reachability() }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<100 { group.addTask { network.isReachable = number.isMultiple(of: 2) } }
    }
    var heard: [[Bool]] = []
    for stream in streams {
      var values: [Bool] = []
      for await value in stream.prefix(101) { values.append(value) }
      heard.append(values)
    }
    #expect(heard[0].count == 101 && heard[0] == heard[1] && heard[1] == heard[2])
    #expect(heard[0].last == network.isReachable)
  }

  @Test func set_whileWatchersAreCancelled_returns() async throws {
    for _ in 0..<20 {
      let network = ManualReachabilityMonitor()
      let watchers = (0..<300).map { _ in
        Task { for await _ in network.reachability() {} }
      }
      await network.wait(forWatchers: 300)
      let (wasSet, wereCancelled) = (Gate(), Gate())
      DispatchQueue.global().async {
        for number in 0..<20 { network.isReachable = !number.isMultiple(of: 2) }
        wasSet.open()
      }
      DispatchQueue.global().async {
        for watcher in watchers { watcher.cancel() }
        wereCancelled.open()
      }
      // Not if two threads wait for each other.
      try await wasSet.waitUnlessCancelled()
      try await wereCancelled.waitUnlessCancelled()
      for watcher in watchers { await watcher.value }
      #expect(network.watcherCount == 0)
    }
  }

  @Test func monitor_keepsNothingAlive() async {
    weak var released: ManualReachabilityMonitor?
    do {
      let network = ManualReachabilityMonitor()
      released = network
      for await _ in network.reachability() { break }
      await network.wait(forWatchers: 0)
    }
    #expect(released == nil)
  }
}
