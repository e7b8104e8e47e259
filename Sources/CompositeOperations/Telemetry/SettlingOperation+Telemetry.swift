import Foundation

extension SettlingOperation {
  /// Reports the events of this operation, and of all operations in it, to a sink, until this
  /// operation has settled.
  ///
  /// ```swift
  /// backup.report(to: StandardErrorSink())
  /// try await backup.run()
  /// ```
  ///
  /// Each operation that runs reports ``TelemetryEvent/Kind/started``. Each operation reports its
  /// end: ``TelemetryEvent/Kind/succeeded``, ``TelemetryEvent/Kind/failed`` or
  /// ``TelemetryEvent/Kind/cancelled``. See ``addTreeObserver(_:)`` for the operations that are
  /// included, for the events of operations that already run, and for the threads. The end of this
  /// operation is the last event. An operation in it may still execute then, such as work whose
  /// timeout settles at once. For such an operation ``TelemetryEvent/Kind/abandoned`` is reported
  /// before the last event, and its own end is not reported. The same is reported of an operation
  /// that other code has started, when no composition waits for it any longer. If compositions wait
  /// for one operation one after the other, each reports a start and an end of it.
  ///
  /// Attempts have numbers unless the operation that makes them has started before this call.
  ///
  /// The end of this operation has the level `info`, or `error` if it has failed. A failure of an
  /// operation in it has the level `warning`, because the operations around that operation decide
  /// what the failure means.
  ///
  /// This operation and the operations in it report one event at a time. Durations are measured
  /// when the event is reported, so a slow sink makes durations longer. Without a sink nothing is
  /// measured.
  ///
  /// - Parameter sink: the sink. Released when the operation has settled.
  /// - Returns: a token that removes the sink; it need not be kept.
  @discardableResult
  public final func report(to sink: some TelemetrySink) -> ObservationToken {
    let reporter = OperationReporter(sink, root: self)
    let record = ObserverRecord(interests: [.tree, .leaving]) { event, subject in
      if let subject { reporter.report(event, of: subject.operation) }
    }
    return add(record)
  }
}

/// Makes the events for a sink from the events that the tree observer of one operation receives.
private final class OperationReporter: Sendable {
  private struct Entry {
    let id = TelemetryEvent.nextID()
    /// Nil for the root, which itself keeps the reporter. Other operations are kept here, so that
    /// no new operation gets the same identity.
    let operation: Operation?
    var parentID: Int64?
    var attempt: Int?
    /// The number of attempts that the operation has begun, if its children are attempts.
    var attempts = 0
    var start: Int64?
    /// The number of compositions that wait for the operation. Each of them reports its end.
    var openEnds = 0
    var hasEnded = false

    /// How long the operation has executed by now.
    var executionTime: Duration? { start.map { .nanoseconds(continuousNanoseconds() - $0) } }
  }

  /// A composition that no composition waits for any longer. Its children are still reported.
  private struct LeftParent {
    let id: Int64
    weak var operation: Operation?
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var leftParents: [ObjectIdentifier: LeftParent] = [:]
    /// The count above which to look for left parents that were released.
    var leftLimit = 8
    /// The names of types of operations.
    var typeNames: [ObjectIdentifier: String] = [:]
  }

  private let sink: any TelemetrySink
  private let root: ObjectIdentifier
  private let state = LockBox(State())

  init(_ sink: any TelemetrySink, root: SettlingOperation) {
    self.sink = sink
    self.root = ObjectIdentifier(root)
  }

  /// Called for one event at a time.
  func report(_ event: OperationEvent, of operation: Operation) {
    switch event.content {
    case .childAdded(let child): add(child, to: operation)
    case .started: reportStart(of: operation)
    case .settled(let outcome): reportEnd(of: operation, outcome)
    case .left: leave(operation)
    case .cancelled, .progress: break
    }
  }

  private func add(_ child: Operation, to parent: Operation) {
    let kind = (parent as? SettlingOperation)?.shownKind
    // There are pauses between the attempts.
    let isAttempt = (kind == .retry || kind == .repeating) && !Self.isWait(child)
    let (parentKey, childKey) = (ObjectIdentifier(parent), ObjectIdentifier(child))
    state.withLock { state in
      let parentID: Int64
      var attempt: Int?
      if let left = state.leftParents[parentKey], left.operation === parent {
        parentID = left.id
      } else {
        var parentEntry = state.entries[parentKey] ?? makeEntry(of: parent)
        // If the start was not reported, the number of earlier attempts is not known.
        if isAttempt, parentEntry.start != nil {
          parentEntry.attempts += 1
          attempt = parentEntry.attempts
        }
        state.entries[parentKey] = parentEntry
        parentID = parentEntry.id
      }
      // It is awaited again.
      state.leftParents[childKey] = nil
      var childEntry = state.entries[childKey] ?? makeEntry(of: child)
      childEntry.openEnds += 1
      if childEntry.parentID == nil {
        childEntry.parentID = parentID
        childEntry.attempt = attempt
      }
      state.entries[childKey] = childEntry
    }
  }

  /// A composition stops waiting for an operation, whose end it will not report.
  private func leave(_ operation: Operation) {
    let key = ObjectIdentifier(operation)
    let isParent = (operation as? SettlingOperation)?.composition != nil
    // Released outside the lock.
    let entry = state.withLock { state -> Entry? in
      guard let entry = state.entries[key] else { return nil }
      guard entry.openEnds <= 1 else {
        state.entries[key]?.openEnds -= 1
        return nil
      }
      if isParent { state.leftParents[key] = LeftParent(id: entry.id, operation: operation) }
      return state.entries.removeValue(forKey: key)
    }
    guard let entry else { return }
    if isParent { forgetReleasedParents() }
    reportAbandoned([entry])
  }

  /// Removes the left parents that were released, if there are many by now.
  private func forgetReleasedParents() {
    let left = state.withLock { $0.leftParents.count > $0.leftLimit ? $0.leftParents : [:] }
    guard !left.isEmpty else { return }
    // Under no lock: reading may release the last reference to an operation.
    let released = left.filter { $0.value.operation == nil }.keys
    state.withLock { state in
      for key in released { state.leftParents[key] = nil }
      state.leftLimit = max(8, state.leftParents.count * 2)
    }
  }

  private func makeEntry(of operation: Operation) -> Entry {
    Entry(operation: ObjectIdentifier(operation) == root ? nil : operation)
  }

  private func reportStart(of operation: Operation) {
    let key = ObjectIdentifier(operation)
    let entry = state.withLock { state in
      var entry = state.entries[key] ?? makeEntry(of: operation)
      let isFirst = entry.start == nil && !entry.hasEnded
      if isFirst { entry.start = continuousNanoseconds() }
      state.entries[key] = entry
      return isFirst ? entry : nil
    }
    if let entry { sink.receive(makeEvent(.started, of: operation, entry)) }
  }

  private func reportEnd(of operation: Operation, _ outcome: Outcome<any Sendable>) {
    let key = ObjectIdentifier(operation)
    let isRoot = key == root
    // The removed operations are released outside the lock.
    let (entry, removed) = state.withLock { state -> (Entry, State) in
      let entry = state.entries.removeValue(forKey: key) ?? makeEntry(of: operation)
      var removed = State()
      if isRoot {
        swap(&removed, &state)
      } else if entry.openEnds > 1 {
        var rest = entry
        rest.openEnds -= 1
        rest.hasEnded = true
        state.entries[key] = rest
      }
      return (entry, removed)
    }
    withExtendedLifetime(removed) {}
    guard !entry.hasEnded else { return }
    reportAbandoned(removed.entries.values)
    var event =
      switch outcome {
      case .success: makeEvent(.succeeded, of: operation, entry)
      case .failure: makeEvent(.failed, of: operation, entry)
      case .cancelled: makeEvent(.cancelled, of: operation, entry)
      }
    event.duration = entry.executionTime
    event.error = outcome.error
    event.level = outcome.error == nil ? (isRoot ? .info : .debug) : (isRoot ? .error : .warning)
    sink.receive(event)
  }

  /// Reports the operations that still execute, because their own ends will not be reported.
  private func reportAbandoned(_ entries: some Sequence<Entry>) {
    let open = entries.filter { $0.start != nil && !$0.hasEnded }.sorted { $0.id < $1.id }
    for entry in open {
      guard let operation = entry.operation else { continue }
      var event = makeEvent(.abandoned, of: operation, entry)
      event.duration = entry.executionTime
      // Reported with an event of another operation.
      guard let operation = operation as? SettlingOperation else {
        sink.receive(event)
        continue
      }
      operation.runUserCode { sink.receive(event) }
    }
  }

  private func makeEvent(_ kind: TelemetryEvent.Kind, of operation: Operation, _ entry: Entry) -> TelemetryEvent {
    var event = TelemetryEvent(kind, library: "CompositeOperations", subject: subject(of: operation))
    event.name = operation.name
    event.id = entry.id
    event.parentID = entry.parentID
    event.attempt = entry.attempt
    return event
  }

  private func subject(of operation: Operation) -> String {
    if let kind = (operation as? SettlingOperation)?.shownKind { return kind.rawValue }
    let type = ObjectIdentifier(type(of: operation))
    if let name = state.withLock({ $0.typeNames[type] }) { return name }
    let name =
      (operation as? any DescribedOperation).map { Swift.type(of: $0).typeDescription }
      ?? "\(Swift.type(of: operation))"
    state.withLock { $0.typeNames[type] = name }
    return name
  }

  /// Whether an operation only waits for a time, or for something that other operations hold.
  private static func isWait(_ operation: Operation) -> Bool {
    (operation as? SettlingOperation)?.isGate == true || operation is DelayOperation
  }
}
