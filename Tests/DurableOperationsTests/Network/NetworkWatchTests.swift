import CompositeOperations
import TestSupport
import Testing

@testable import DurableOperations

@Suite("Watching the network", .timeLimit(.minutes(30)))
struct NetworkWatchTests {
  private let network = ManualReachabilityMonitor(isReachable: false)
  private let changes = EventRecorder<Bool>()

  private func watching() async -> NetworkWatch {
    let watch = NetworkWatch()
    watch.start(network) { [changes] in changes.record($0) }
    await network.wait(forWatchers: 1)
    return watch
  }

  @Test("Until the monitor has reported, the network counts as unreachable")
  func beforeStart_isOffline() {
    #expect(!NetworkWatch().isOnline)
  }

  @Test("Each change is told once, in order; what is no change is not told")
  func changes_areTold() async {
    let watch = await watching()
    for isReachable in [false, true, true, false, false, true] { network.isReachable = isReachable }
    await changes.wait(forCount: 3)
    #expect(changes.events == [true, false, true])
    #expect(watch.isOnline)
    withExtendedLifetime(watch) {}
  }

  @Test("A network that is reachable from the start is a change")
  func reachableAtStart_isTold() async {
    network.isReachable = true
    let watch = await watching()
    await changes.wait(for: true)
    #expect(watch.isOnline)
  }

  @Test("The end of watching ends the monitor's work, and tells nothing more")
  func stop_endsWatching() async {
    let watch = await watching()
    network.isReachable = true
    await changes.wait(for: true)
    watch.stop()
    network.isReachable = false
    await network.wait(forWatchers: 0)
    #expect(changes.events == [true])
    #expect(watch.isOnline)
    watch.stop()
    watch.start(network) { _ in Issue.record("It started again") }
    await settleDown()
    #expect(network.watcherCount == 0)
    withExtendedLifetime(watch) {}
  }

  @Test("A watch that is let go ends, and releases what it calls")
  func release_endsWatching() async {
    final class Owner: Sendable {
      let watch = NetworkWatch()
    }
    weak var released: Owner?
    weak var listener: EventRecorder<Bool>?
    do {
      let owner = Owner()
      let local = EventRecorder<Bool>()
      (released, listener) = (owner, local)
      owner.watch.start(network) { [weak owner] in
        _ = owner
        local.record($0)
      }
      await network.wait(forWatchers: 1)
      withExtendedLifetime(owner) {}
    }
    #expect(released == nil)
    await network.wait(forWatchers: 0)
    await becomesNil { listener }
  }

  @Test("Only the first start counts")
  func secondStart_doesNothing() async {
    let watch = await watching()
    let other = ManualReachabilityMonitor()
    watch.start(other) { _ in Issue.record("It was told") }
    #expect(other.watcherCount == 0)
    network.isReachable = true
    await changes.wait(for: true)
    await settleDown()
    #expect(other.watcherCount == 0)
    withExtendedLifetime(watch) {}
  }

  @Test("Stopped while it starts, it leaves no watch behind", arguments: 0..<50)
  func stop_whileStarting(round: Int) async {
    let watch = NetworkWatch()
    async let start: Void = watch.start(network) { _ in }
    watch.stop()
    await start
    // The task of the start begins to watch, if only for a moment.
    await settleDown()
    await network.wait(forWatchers: 0)
    withExtendedLifetime(watch) {}
  }

  /// Ends when there is nothing left: after the task that held it has been torn down, which is a
  /// moment later.
  private func becomesNil<Object: AnyObject>(_ object: () -> Object?) async {
    await until(object() == nil)
  }

  #if !canImport(Network)
  @Test("On Linux the system's monitor finds the network reachable")
  func systemMonitor_onLinux_isOnline() async {
    let watch = NetworkWatch()
    watch.start(SystemReachabilityMonitor()) { [changes] in changes.record($0) }
    await changes.wait(for: true)
    #expect(watch.isOnline)
  }
  #endif
}
