import Foundation
import Synchronization

/// Told what becomes of the children of a composition: a timeline recorder, a progress tree, the observers of a composite.
///
/// Everything is called under no lock, on the thread on which it happens. For one child the calls come in this order,
/// each at most once; those of several children come at the same time, from several threads. A monitor that was attached
/// late may have missed any of them, but never the settlement of a child that it found unfinished after it was attached.
protocol SourceMonitor: AnyObject, Sendable {
  /// The composition has a new child. All children of a parallel composite come when it starts, those of a sequence one
  /// by one.
  func source(_ source: WorkSource, didAdd child: Operation, tag: Int)
  /// The child starts, or, where somebody else has started it, is about to be waited for: its settlement may follow at
  /// once if the composition ends meanwhile. Not called for children that never run.
  func source(_ source: WorkSource, willStart child: Operation, tag: Int)
  /// The child has finished, or is somebody else's and no longer waited for. Called before the composition settles; but
  /// where somebody else has settled the owner, as a timeout may do at once, settlements come later than that.
  func source(_ source: WorkSource, didSettle child: Operation, tag: Int)
}

/// The monitors of a source, as a list that is only ever added to: whoever tells them needs no lock.
struct MonitorList: ~Copyable {
  private final class Node: Sendable {
    let monitor: any SourceMonitor
    let isInherited: Bool
    let next: Node?

    init(_ monitor: any SourceMonitor, isInherited: Bool, next: Node?) {
      self.monitor = monitor
      self.isInherited = isInherited
      self.next = next
    }
  }

  private let first = Atomic<Unmanaged<Node>?>(nil)

  deinit {
    first.load(ordering: .acquiring)?.release()
  }

  /// Sequentially consistent, like the adding: of a child that settles and a monitor that is added, one sees the other.
  @inline(__always)
  var isEmpty: Bool { first.load(ordering: .sequentiallyConsistent) == nil }

  private var head: Node? { first.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue() }

  func add(_ monitor: any SourceMonitor, isInherited: Bool) {
    var old = first.load(ordering: .acquiring)
    while true {
      let node = Unmanaged.passRetained(Node(monitor, isInherited: isInherited, next: old?.takeUnretainedValue()))
      let (exchanged, original) = first.compareExchange(
        expected: old, desired: node, ordering: .sequentiallyConsistent)
      if exchanged {
        // The node holds it now.
        old?.release()
        return
      }
      node.release()
      old = original
    }
  }

  /// Calls `body` with each monitor, the one that was added last first.
  func forEach(_ body: (any SourceMonitor) -> Void) {
    var node = head
    while let current = node {
      body(current.monitor)
      node = current.next
    }
  }

  /// The monitors of compositions inside this one as well.
  var inherited: [any SourceMonitor] {
    var monitors: [any SourceMonitor] = []
    var node = head
    while let current = node {
      if current.isInherited { monitors.append(current.monitor) }
      node = current.next
    }
    return monitors
  }
}

private enum MonitorEvent {
  case added, willStart, settled
}

extension WorkSource {
  /// Has a monitor told of the children from now on. What is under way already it finds with `forEachChild`.
  ///
  /// - Parameter isInherited: whether it is also told of what happens in compositions inside this one that start from now
  ///   on.
  final func addMonitor(_ monitor: any SourceMonitor, isInherited: Bool) {
    monitors.add(monitor, isInherited: isInherited)
  }

  @inline(__always)
  final func tellAdded(_ child: Operation, tag: Int) {
    if !monitors.isEmpty { tell(.added, child, tag) }
  }

  @inline(__always)
  final func tellWillStart(_ child: Operation, tag: Int) {
    if !monitors.isEmpty { tell(.willStart, child, tag) }
  }

  @inline(__always)
  final func tellSettled(_ child: Operation?, tag: Int) {
    if !monitors.isEmpty { tell(.settled, child, tag) }
  }

  // Out of line, so that nothing is retained for it where nobody listens.
  @inline(never)
  private func tell(_ event: MonitorEvent, _ child: Operation?, _ tag: Int) {
    guard let child else { return }
    switch event {
    case .added: monitors.forEach { $0.source(self, didAdd: child, tag: tag) }
    case .willStart: monitors.forEach { $0.source(self, willStart: child, tag: tag) }
    case .settled: monitors.forEach { $0.source(self, didSettle: child, tag: tag) }
    }
  }

  /// What a composition inside this one inherits.
  final var environmentForChildren: ExecutionEnvironment {
    guard !monitors.isEmpty else { return environment }
    var environment = environment
    environment.monitors = monitors.inherited
    return environment
  }
}
