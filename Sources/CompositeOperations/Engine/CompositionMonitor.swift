import Foundation
import Synchronization

/// Observes the children of a composition: a timeline recorder, a progress tree, the observers of a
/// composite.
///
/// Each method is called under no lock, on the thread of the event. For one child the calls come in
/// this order, each at most once; calls for several children may come at the same time from several
/// threads. A monitor that was attached late may have missed any of them, but never the settlement
/// of a child that it found unfinished afterwards.
package protocol CompositionMonitor: AnyObject, Sendable {
  /// Called when the owner of the composition starts, on this thread, or is settled without being
  /// run.
  func compositionWillBegin(_ composition: Composition)
  /// Called for each new child: for all children of a parallel composite when it starts, for those
  /// of a sequence one by one.
  func composition(_ composition: Composition, didAdd child: Operation, tag: Int)
  /// Called when a child starts, or just after if the monitor was attached in that moment. For a
  /// child that other code started, called when the composition begins to wait for it; its
  /// settlement may follow at once if the composition ends. Not called for children that never run.
  func composition(_ composition: Composition, willStart child: Operation, tag: Int)
  /// Called when a child has finished, or when the composition stops waiting for one that other
  /// code started. Called before the composition settles, unless other code settles the owner, as a
  /// timeout does.
  func composition(_ composition: Composition, didSettle child: Operation, tag: Int)
}

extension CompositionMonitor {
  package func compositionWillBegin(_ composition: Composition) {}
}

/// The monitors of a composition: a list that only grows, so that notifying needs no lock.
struct MonitorList: ~Copyable {
  private final class Node: @unchecked Sendable {  // immutable; `following` is kept by `next`
    let monitor: any CompositionMonitor
    let isInherited: Bool
    private let next: Node?
    let following: Unmanaged<Node>?

    init(_ monitor: any CompositionMonitor, isInherited: Bool, next: Node?) {
      following = next.map { Unmanaged.passUnretained($0) }
      self.monitor = monitor
      self.isInherited = isInherited
      self.next = next
    }

    // A method of the node, so that the call does not retain the monitor.
    @inline(never)
    func tell(_ composition: Composition, _ event: MonitorEvent, _ child: Operation, _ tag: Int) {
      switch event {
      case .added: monitor.composition(composition, didAdd: child, tag: tag)
      case .willStart: monitor.composition(composition, willStart: child, tag: tag)
      case .settled: monitor.composition(composition, didSettle: child, tag: tag)
      }
    }
  }

  private let first = Atomic<Unmanaged<Node>?>(nil)

  deinit {
    first.load(ordering: .acquiring)?.release()
  }

  /// Sequentially consistent, like `add`: when a child settles while a monitor is added, one of the
  /// two threads sees the other's change.
  @inline(__always)
  var isEmpty: Bool { first.load(ordering: .sequentiallyConsistent) == nil }

  func add(_ monitor: any CompositionMonitor, isInherited: Bool) {
    var old = first.load(ordering: .acquiring)
    while let other = add(monitor, isInherited: isInherited, after: old) { old = other }
  }

  /// Returns nil if the monitor was added; else the node that has replaced `old` as the first one.
  private func add(_ monitor: any CompositionMonitor, isInherited: Bool, after old: Unmanaged<Node>?) -> Unmanaged<
    Node
  >? {
    let node = Unmanaged.passRetained(Node(monitor, isInherited: isInherited, next: old?.takeUnretainedValue()))
    let (exchanged, original) = first.compareExchange(expected: old, desired: node, ordering: .sequentiallyConsistent)
    guard exchanged else {
      node.release()
      return original
    }
    // The new node retains it now.
    old?.release()
    return nil
  }

  /// Returns the first monitor of a type, made and added if there is none. If several threads find
  /// none, only one adds it.
  func first<Monitor: CompositionMonitor>(orAdding make: @autoclosure () -> Monitor) -> Monitor {
    var old = first.load(ordering: .acquiring)
    var made: Monitor?
    while true {
      var node = old
      while let current = node {
        if let monitor = current._withUnsafeGuaranteedRef({ $0.monitor as? Monitor }) { return monitor }
        node = current._withUnsafeGuaranteedRef { $0.following }
      }
      let monitor = made ?? make()
      made = monitor
      guard let seen = add(monitor, isInherited: false, after: old) else { return monitor }
      old = seen
    }
  }

  /// Calls `body` with each monitor, the last added first.
  ///
  /// Retains nothing, which all threads would do with the same objects: the list keeps its nodes.
  @inline(__always)
  func forEach(_ body: (any CompositionMonitor) -> Void) {
    forEachNode { body($0.monitor) }
  }

  @inline(__always)
  fileprivate func tell(_ composition: Composition, _ event: MonitorEvent, _ child: Operation, _ tag: Int) {
    forEachNode { $0.tell(composition, event, child, tag) }
  }

  @inline(__always)
  private func forEachNode(_ body: (Node) -> Void) {
    var node = first.load(ordering: .sequentiallyConsistent)
    while let current = node {
      node = current._withUnsafeGuaranteedRef { node in
        body(node)
        return node.following
      }
    }
  }

  /// The monitors that compositions inside this one inherit.
  var inherited: [any CompositionMonitor] {
    var monitors: [any CompositionMonitor] = []
    forEachNode { if $0.isInherited { monitors.append($0.monitor) } }
    return monitors
  }
}

private enum MonitorEvent {
  case added, willStart, settled
}

extension Composition {
  /// Adds a monitor, which is notified of the children from now on and finds the current ones with
  /// `forEachChild`.
  ///
  /// - Parameter isInherited: whether the monitor also observes the compositions inside this one
  ///   that start from now on.
  package final func addMonitor(_ monitor: any CompositionMonitor, isInherited: Bool) {
    monitors.add(monitor, isInherited: isInherited)
  }

  /// Calls `body` with each monitor.
  package final func forEachMonitor(_ body: (any CompositionMonitor) -> Void) { monitors.forEach(body) }

  @inline(__always)
  final func tellWillBegin() {
    if !monitors.isEmpty { monitors.forEach { $0.compositionWillBegin(self) } }
  }

  @inline(__always)
  final func tellAdded(_ child: Operation, tag: Int) {
    if !monitors.isEmpty { tell(.added, child, tag) }
  }

  /// Returns whether there is a monitor.
  @discardableResult
  @inline(__always)
  final func tellWillStart(_ child: Operation, tag: Int) -> Bool {
    guard !monitors.isEmpty else { return false }
    tell(.willStart, child, tag)
    return true
  }

  @inline(__always)
  final func tellSettled(_ child: Operation?, tag: Int) {
    if !monitors.isEmpty { tell(.settled, child, tag) }
  }

  // Out of line, so that nothing is retained when there is no monitor.
  @inline(never)
  private func tell(_ event: MonitorEvent, _ child: Operation?, _ tag: Int) {
    guard let child else { return }
    monitors.tell(self, event, child, shownTag(tag))
  }

  /// The environment that a composition inside this one inherits.
  final var environmentForChildren: ExecutionEnvironment {
    guard !monitors.isEmpty else { return environment }
    var environment = environment
    environment.monitors = monitors.inherited
    return environment
  }
}
