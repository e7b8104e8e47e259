import Foundation
import TestSupport

/// The events of one tree in one order: every event gets the next tick of one clock.
///
/// The journal checks at once the rules of every moment (limits, nothing after the end, nothing
/// twice). ``TreeJudge`` checks the rest afterwards.
final class TreeJournal: Sendable {
  /// What happened to one node.
  struct Entry: Sendable {
    var isMade = false
    /// When the leaf's body, or the closure of the step, began.
    var begun: [Int] = []
    /// When it ended, or the leaf was settled in another way.
    var ended: [Int] = []
    /// When and how its completion was called. Operations without one note it when they are about
    /// to finish.
    var settled: [(tick: Int, verdict: Verdict)] = []
    var cancelRequests: [Int] = []
    var cancelHooks = 0
    /// The outcomes of the calls of `finish`, `reject` and `settle` that returned true.
    var accepted: [Verdict] = []
    /// The positions of the steps or items that were made, in this order.
    var made: [Int] = []
    fileprivate var running = 0
    /// A cancel hook ended the leaf before the first line of its body, so its place was free before
    /// that came.
    fileprivate var isOver = false
    fileprivate var isActive = false
    fileprivate var activeChildren = 0
  }

  /// One `cancelAllOperations`.
  struct QueueCancel: Sendable {
    let queue: Int
    let began: Int
    /// When it returned; never, if no code waited for that.
    fileprivate(set) var ended = Int.max
  }

  private struct State {
    var clock = 0
    var entries: [Entry]
    var queueCancels: [QueueCancel] = []
    var queueLoads: [Int]
    var complaints: [String] = []

    mutating func tick() -> Int {
      clock += 1
      return clock
    }
  }

  private let index: TreeIndex
  private let limits: [Int]
  private let state: Locked<State>

  init(_ plan: TreePlan, _ index: TreeIndex) {
    self.index = index
    limits = plan.queues
    state = Locked(
      State(
        entries: Array(repeating: Entry(), count: plan.nodeCount),
        queueLoads: Array(repeating: 0, count: plan.queues.count)))
  }

  var entries: [Entry] { state.withLock { $0.entries } }

  var queueCancels: [QueueCancel] { state.withLock { $0.queueCancels } }

  var complaints: [String] { state.withLock { $0.complaints } }

  func complain(_ complaint: String) {
    state.withLock { $0.complaints.append(complaint) }
  }

  /// Complains unless `condition` holds.
  func require(_ condition: Bool, _ complaint: @autoclosure () -> String) {
    if !condition { complain(complaint()) }
  }

  func made(_ id: Int, position: Int? = nil) {
    state.withLock { state in
      state.entries[id].isMade = true
      if let position, let parent = index[id].parent { state.entries[parent].made.append(position) }
    }
  }

  /// The body of a leaf, the closure of a step or a delegate begins to run.
  func begin(_ id: Int) {
    let node = index[id]
    state.withLock { state in
      let tick = state.tick()
      state.entries[id].begun.append(tick)
      state.entries[id].running += 1
      // The closure of a `forEach` alone may be called by several threads at once.
      if state.entries[id].running > 1, node.spec.width == 1 || node.spec.leaf != nil {
        state.complaints.append("#\(id) was called while it ran")
      }
      if node.spec.leaf?.kind == .executing { return }
      // A cancel hook may settle an operation that has started between that and the first line of
      // its body.
      if state.entries[id].cancelHooks == 0 {
        if !state.entries[id].settled.isEmpty { state.complaints.append("#\(id) ran after it settled") }
        if let parent = node.parent, !state.entries[parent].settled.isEmpty {
          state.complaints.append("#\(id) ran after its composite #\(parent) settled")
        }
      }
      if state.entries[id].isOver {
        state.entries[id].running -= 1
        return
      }
      if let queue = node.queue {
        state.queueLoads[queue] += 1
        if limits[queue] >= 0, state.queueLoads[queue] > limits[queue] {
          let others = index.nodes.filter { $0.queue == queue && state.entries[$0.id].running > 0 }.map { "#\($0.id)" }
          state.complaints.append(
            "queue \(queue) ran \(state.queueLoads[queue]) at once when #\(id) began: \(others.joined(separator: ", "))"
          )
        }
      }
      activate(id, &state)
    }
  }

  /// The child of a `forEach` exists from now on and counts for its width, unless it settled before
  /// it was made, or waits outside of its place.
  func activate(_ id: Int) {
    if index.waitsInside(id) { return }
    state.withLock { if $0.entries[id].settled.isEmpty { activate(id, &$0) } }
  }

  /// Ends what `begin` began. Called before the operation settles, because its place is free from
  /// then on.
  func end(_ id: Int) {
    state.withLock { state in
      // A leaf may be settled by its body and by its cancel hook.
      guard state.entries[id].running > 0 else {
        state.entries[id].isOver = index[id].spec.leaf != nil
        return
      }
      state.entries[id].running -= 1
      state.entries[id].ended.append(state.tick())
      if let queue = index[id].queue, index[id].spec.leaf?.kind != .executing { state.queueLoads[queue] -= 1 }
      if index[id].spec.leaf != nil { deactivate(id, &state) }
    }
  }

  func settled(_ id: Int, _ verdict: Verdict) {
    state.withLock { state in
      let tick = state.tick()
      state.entries[id].settled.append((tick, verdict))
      deactivate(id, &state)
      if state.entries[id].settled.count > 1 { state.complaints.append("#\(id) settled again") }
    }
  }

  func accepted(_ id: Int, _ verdict: Verdict) {
    state.withLock { $0.entries[id].accepted.append(verdict) }
  }

  func cancelRequested(_ id: Int) {
    state.withLock { $0.entries[id].cancelRequests.append($0.tick()) }
  }

  /// Returns the number of the call, for its end.
  func queueCancelBegins(_ queue: Int) -> Int {
    state.withLock { state in
      state.queueCancels.append(QueueCancel(queue: queue, began: state.tick()))
      return state.queueCancels.count - 1
    }
  }

  func queueCancelEnds(_ number: Int) {
    state.withLock { $0.queueCancels[number].ended = $0.tick() }
  }

  func cancelHookCalled(_ id: Int) {
    state.withLock { $0.entries[id].cancelHooks += 1 }
  }

  /// A node counts for the widths above it from the first thing that runs in it until it settled.
  private func activate(_ id: Int, _ state: inout State) {
    for node in index.path(from: id) {
      if state.entries[node.id].isActive { return }
      state.entries[node.id].isActive = true
      guard let parent = node.parent else { return }
      state.entries[parent].activeChildren += 1
      if let width = index[parent].width, state.entries[parent].activeChildren > width {
        state.complaints.append("#\(parent) ran \(state.entries[parent].activeChildren) children at once with #\(id)")
      }
    }
  }

  private func deactivate(_ id: Int, _ state: inout State) {
    guard state.entries[id].isActive else { return }
    state.entries[id].isActive = false
    if let parent = index[id].parent { state.entries[parent].activeChildren -= 1 }
  }
}
