public import CompositeOperations
import Foundation

/// Several tasks that were added together: an operation whose value is the outcome of each, in the
/// order of the tasks.
///
/// ```swift
/// let group = manager.add(contentsOf: cities.map(Search.init))
/// for await (index, outcome) in group.outcomesAsTheyCome { show(outcome, at: index) }
/// let found = try await group.value.compactMap(\.value)
/// ```
///
/// It succeeds when all tasks have settled, with whatever outcomes. Cancelling it cancels all
/// tasks, and it settles as cancelled when they have settled. Without tasks it succeeds when it is
/// started. Like a handle it takes no slot in a composite, and `start()` and `cancel()` may be
/// called any number of times.
public final class HandleGroup<Value: Sendable>:
  SimpleOperation<[Outcome<Value>]>, @unchecked Sendable  // the state is behind a lock; the rest is constant
{
  private typealias Continuation = AsyncStream<(index: Int, outcome: Outcome<Value>)>.Continuation

  private struct Stream {
    let continuation: Continuation
    var sentCount = 0
  }

  private struct State {
    var outcomes: [Outcome<Value>?]
    /// The settled ones, in the order in which they settled.
    var order: [Int] = []
    var streams: [Int: Stream] = [:]
    var lastStream = 0
    /// Whether a thread is yielding to the streams.
    var isTelling = false
    /// In order: the next one to start.
    var next = 0
    var isStarted = false
    /// Whether a thread is starting the next one.
    var isStarting = false
  }

  /// The handles, in the order of the tasks. Each can be watched and cancelled by itself.
  public let handles: [OperationHandle<Value>]
  private let inOrder: Bool
  private let groupState: LockBox<State>
  private let members: Members<Value>
  private let owner: any HandleOwner

  init(_ handles: [OperationHandle<Value>], inOrder: Bool, owner: any HandleOwner) {
    self.owner = owner
    self.handles = handles
    self.inOrder = inOrder
    groupState = LockBox(State(outcomes: Array(repeating: nil, count: handles.count)))
    members = Members()
    super.init()
    occupyNoSlot()
    members.tell(self)
    for (index, handle) in handles.enumerated() where !handle.observe(members, tag: index) {
      memberDidSettle(index)
    }
  }

  deinit {
    for stream in groupState.withLock({ $0.streams }).values { stream.continuation.finish() }
  }

  // MARK: - As they come

  /// The outcome of each task as it settles, with the index of the task.
  ///
  /// Each use makes a stream of its own, which keeps all outcomes until they are read. It begins
  /// with those of settled tasks, in the order in which they settled. It ends after the last one,
  /// or when a group that was not started is released.
  public var outcomesAsTheyCome: AsyncStream<(index: Int, outcome: Outcome<Value>)> {
    let (stream, continuation) = AsyncStream.makeStream(of: (index: Int, outcome: Outcome<Value>).self)
    let number = groupState.withLock { state in
      state.lastStream += 1
      state.streams[state.lastStream] = Stream(continuation: continuation)
      return state.lastStream
    }
    continuation.onTermination = { [weak self] _ in
      let ended = self?.groupState.withLock { $0.streams.removeValue(forKey: number) }
      withExtendedLifetime(ended) {}
    }
    tellStreams()
    return stream
  }

  /// Yields to each stream what it has not had. One thread at a time does, so that each gets all in
  /// order.
  private func tellStreams() {
    var isTelling = false
    while true {
      typealias News = (continuation: Continuation, elements: [(Int, Outcome<Value>)], isLast: Bool)
      let news: [News]? = groupState.withLock { state in
        guard isTelling || !state.isTelling else { return nil }
        var news: [News] = []
        for (number, stream) in state.streams {
          let elements = state.order[stream.sentCount...].compactMap { index in
            state.outcomes[index].map { (index, $0) }
          }
          let isLast = state.order.count == handles.count
          if !elements.isEmpty || isLast { news.append((stream.continuation, elements, isLast)) }
          state.streams[number]?.sentCount = state.order.count
          if isLast { state.streams[number] = nil }
        }
        state.isTelling = !news.isEmpty
        return news.isEmpty ? nil : news
      }
      guard let news else { return }
      isTelling = true
      for (continuation, elements, isLast) in news {
        for (index, outcome) in elements { continuation.yield((index, outcome)) }
        if isLast { continuation.finish() }
      }
    }
  }

  // MARK: - As an operation

  /// Starts the tasks: all of them, or the first.
  public override func main() {
    groupState.withLock { $0.isStarted = true }
    // Between two of its tasks, and until its completion has run, the manager is not idle.
    owner.groupStarted(inOrder ? handles.map(\.id) : [])
    members.keep(self)
    if inOrder {
      startNext()
    } else {
      for handle in handles { handle.start() }
    }
    settleIfDone()
  }

  /// Cancels all tasks.
  public override func cancel() {
    super.cancel()
    for handle in handles { handle.cancel() }
    // All of them may have settled before.
    settleIfDone()
  }

  fileprivate func memberDidSettle(_ index: Int) {
    guard let outcome = handles[index].outcome else { return }
    groupState.withLock { state in
      state.outcomes[index] = outcome
      state.order.append(index)
    }
    tellStreams()
    startNext()
    settleIfDone()
  }

  /// In order: starts the first task that has not settled.
  private func startNext() {
    guard inOrder else { return }
    while true {
      let next: Int? = groupState.withLock { state in
        guard state.isStarted, !isCancelled, !state.isStarting else { return nil }
        while state.next < handles.count, state.outcomes[state.next] != nil { state.next += 1 }
        guard state.next < handles.count else { return nil }
        state.isStarting = true
        return state.next
      }
      guard let next else { return }
      handles[next].start()
      // If it has settled meanwhile, that has started nothing.
      let hasSettled = groupState.withLock { state in
        state.isStarting = false
        return state.outcomes[next] != nil
      }
      if !hasSettled { return }
    }
  }

  private func settleIfDone() {
    let outcomes: [Outcome<Value>]? = groupState.withLock { state in
      guard state.isStarted || isCancelled, state.order.count == handles.count else { return nil }
      return state.outcomes.compactMap(\.self)
    }
    guard let outcomes else { return }
    finish(with: outcomes)
    if members.letGo() { owner.groupEnded() }
  }
}

/// Observes the members of a group, and keeps the group alive from its start until all have
/// settled.
private final class Members<Value: Sendable>: SettlementObserver {
  private struct Reference {
    weak var group: HandleGroup<Value>?
    var kept: HandleGroup<Value>?
  }

  private let reference = LockBox(Reference())

  func tell(_ group: HandleGroup<Value>) { reference.withLock { $0.group = group } }

  func keep(_ group: HandleGroup<Value>) { reference.withLock { $0.kept = group } }

  /// Releases the group. Returns whether it was kept.
  func letGo() -> Bool {
    let kept = reference.withLock { $0.kept.take() }
    return withExtendedLifetime(kept) { kept != nil }
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    reference.withLock { $0.group }?.memberDidSettle(tag)
  }
}
