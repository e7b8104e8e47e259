import CompositeOperations
import Foundation

/// The outcomes of the tasks of a group in the order in which they come, for any number of streams.
///
/// It observes the handles and does not keep them, so a group that was not started is released with
/// the last reference to it.
final class OutcomeStreams<Value: Sendable>: SettlementObserver {
  typealias Element = (index: Int, outcome: Outcome<Value>)
  private typealias Continuation = AsyncStream<Element>.Continuation

  private struct State {
    var elements: [Element] = []
    var continuations: [Int: Continuation] = [:]
    var lastNumber = 0
    /// What to put into which stream; nil for its end.
    var outbox = Outbox<(Continuation, Element?)>()

    mutating func end() {
      outbox.append(contentsOf: continuations.values.map { ($0, nil) })
      continuations = [:]
    }
  }

  private let count: Int
  private let state = LockBox(State())

  init(of handles: [OperationHandle<Value>]) {
    count = handles.count
    for (index, handle) in handles.enumerated() where !handle.observe(self, tag: index) {
      operationDidSettle(handle, tag: index)
    }
  }

  func operationDidSettle(_ operation: Operation, tag index: Int) {
    guard let outcome = (operation as? OperationHandle<Value>)?.outcome else { return }
    state.withLock { state in
      state.elements.append((index, outcome))
      for continuation in state.continuations.values { state.outbox.append((continuation, (index, outcome))) }
      if state.elements.count == count { state.end() }
    }
    deliver()
  }

  /// Makes a stream that begins with what has come, and ends after the last outcome.
  func makeStream() -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
    let number = state.withLock { state in
      state.lastNumber += 1
      state.continuations[state.lastNumber] = continuation
      state.outbox.append(contentsOf: state.elements.map { (continuation, $0) })
      if state.elements.count == count { state.end() }
      return state.lastNumber
    }
    continuation.onTermination = { [weak self] _ in
      let ended = self?.state.withLock { $0.continuations.removeValue(forKey: number) }
      withExtendedLifetime(ended) {}
    }
    deliver()
    return stream
  }

  /// Ends all streams.
  func end() {
    state.withLock { $0.end() }
    deliver()
  }

  /// One thread at a time does, so that each stream gets all in order.
  private func deliver() {
    guard state.withLock({ $0.outbox.beginDelivery() }) else { return }
    while let entries = state.withLock({ $0.outbox.nextDelivery() }) {
      for (continuation, element) in entries {
        if let element { continuation.yield(element) } else { continuation.finish() }
      }
    }
  }
}
