import Foundation

extension SettlingOperation {
  /// Reports to a sink what happens, from now on, to this operation and to all operations in it,
  /// until this one has settled.
  ///
  /// ```swift
  /// backup.report(to: StandardErrorSink())
  /// try await backup.run()
  /// ```
  ///
  /// Of each operation a ``TelemetryEvent/Kind/started`` event is reported, unless it never runs,
  /// and then one of its end: ``TelemetryEvent/Kind/succeeded``, ``TelemetryEvent/Kind/failed`` or
  /// ``TelemetryEvent/Kind/cancelled``. Which operations are in it, what is reported of one that is
  /// under way already, and on which thread, is as with ``addTreeObserver(on:_:)``. The end of this
  /// operation is the last event. An operation in it that still executes then, such as work whose
  /// timeout settles at once, is reported as ``TelemetryEvent/Kind/abandoned`` before, for its own
  /// end is not.
  ///
  /// Attempts are numbered if the operation that makes them was not under way already.
  ///
  /// Only the end of this operation is at the level `info`, or `error` if it has failed. A failure
  /// inside is a `warning`, for what is around it decides what it means.
  ///
  /// An operation without a sink pays nothing. With one, one event at a time is reported of the
  /// operation and those in it, and times are taken when it is: a slow sink makes durations longer.
  ///
  /// - Parameter sink: the sink. Released when the operation has settled.
  /// - Returns: a token to remove the sink with, which need not be kept.
  @discardableResult
  public final func report(to sink: some TelemetrySink) -> ObservationToken {
    let reporter = OperationReporter(sink, root: self)
    return addTreeObserver { operation, event in reporter.report(event, of: operation) }
  }
}

/// Makes events for a sink of what the tree observers of one operation are told.
private final class OperationReporter: Sendable {
  private struct Entry {
    let id = TelemetryEvent.nextID()
    /// Nil for the root, which keeps this. Others are kept, so that no other gets their identity.
    let operation: Operation?
    var parentID: Int64?
    var attempt: Int?
    /// How many attempts it has begun, if its children are attempts.
    var attempts = 0
    var start: Int64?
    /// How many compositions wait for it, each of which tells of its end.
    var openEnds = 0
    var hasEnded = false

    /// How long it has executed by now.
    var executionTime: Duration? { start.map { .nanoseconds(continuousNanoseconds() - $0) } }
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    /// What operations of a type are called.
    var typeNames: [ObjectIdentifier: String] = [:]
  }

  private static let library = "CompositeOperations"

  private let sink: any TelemetrySink
  private let root: ObjectIdentifier
  private let state = LockBox(State())

  init(_ sink: any TelemetrySink, root: SettlingOperation) {
    self.sink = sink
    self.root = ObjectIdentifier(root)
  }

  /// Called for one event after the other.
  func report(_ event: OperationEvent, of operation: Operation) {
    switch event.content {
    case .childAdded(let child): add(child, to: operation)
    case .started: reportStart(of: operation)
    case .settled(let outcome): reportEnd(of: operation, outcome)
    case .cancelled, .progress: break
    }
  }

  private func add(_ child: Operation, to parent: Operation) {
    let isAttempt = (parent as? SettlingOperation)?.shownKind?.repeatsChildren == true && !Self.isWait(child)
    let parentKey = ObjectIdentifier(parent)
    state.withLock { state in
      var parentEntry = state.entries[parentKey] ?? makeEntry(of: parent)
      // How many there were before is not known if the start was not reported.
      let isNumbered = isAttempt && parentEntry.start != nil
      if isNumbered { parentEntry.attempts += 1 }
      state.entries[parentKey] = parentEntry
      var childEntry = state.entries[ObjectIdentifier(child)] ?? makeEntry(of: child)
      childEntry.openEnds += 1
      if childEntry.parentID == nil {
        childEntry.parentID = parentEntry.id
        childEntry.attempt = isNumbered ? parentEntry.attempts : nil
      }
      state.entries[ObjectIdentifier(child)] = childEntry
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
    // What is removed is released outside the lock.
    let (entry, removed) = state.withLock { state -> (Entry, State) in
      var entry = state.entries.removeValue(forKey: key) ?? makeEntry(of: operation)
      var removed = State()
      if isRoot {
        swap(&removed, &state)
      } else if entry.openEnds > 1 {
        var rest = entry
        rest.openEnds -= 1
        rest.hasEnded = true
        state.entries[key] = rest
      }
      entry.openEnds = 0
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
    switch outcome {
    case .failure: event.level = isRoot ? .error : .warning
    case .success, .cancelled: event.level = isRoot ? .info : .debug
    }
    sink.receive(event)
  }

  /// Reports the operations that still execute: their own ends are not reported.
  private func reportAbandoned(_ entries: some Sequence<Entry>) {
    let open = entries.filter { $0.start != nil && !$0.hasEnded }.sorted { $0.id < $1.id }
    for entry in open {
      guard let operation = entry.operation else { continue }
      var event = makeEvent(.abandoned, of: operation, entry)
      event.duration = entry.executionTime
      sink.receive(event)
    }
  }

  private func makeEvent(_ kind: TelemetryEvent.Kind, of operation: Operation, _ entry: Entry) -> TelemetryEvent {
    var event = TelemetryEvent(kind, library: Self.library, subject: subject(of: operation))
    event.name = operation.name
    event.id = entry.id
    event.parentID = entry.parentID
    event.attempt = entry.attempt
    return event
  }

  private func subject(of operation: Operation) -> String {
    if let kind = (operation as? SettlingOperation)?.shownKind { return kind.title }
    let type = ObjectIdentifier(type(of: operation))
    if let name = state.withLock({ $0.typeNames[type] }) { return name }
    let name =
      (operation as? any DescribedOperation).map { Swift.type(of: $0).typeDescription }
      ?? "\(Swift.type(of: operation))"
    state.withLock { $0.typeNames[type] = name }
    return name
  }

  /// Whether it only waits for a time, or for something that others hold.
  private static func isWait(_ operation: Operation) -> Bool {
    (operation as? SettlingOperation)?.isGate == true || operation is DelayOperation
  }
}

extension OperationKind {
  /// Whether its children are attempts at one work, and what they wait for.
  fileprivate var repeatsChildren: Bool { self == .retry || self == .repeating }
}
