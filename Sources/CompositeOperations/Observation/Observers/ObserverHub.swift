import Foundation

/// Notifies the observers of one operation.
final class ObserverHub: EventSink, @unchecked Sendable {  // the state is behind a lock; the weak reference is set once
  let state = LockBox(ObserverState())
  private weak var operation: SettlingOperation?

  init(of operation: SettlingOperation) {
    self.operation = operation
  }

  // MARK: - Posting

  func posting(_ event: OperationEvent) -> (any EventSink)? {
    state.withLock { $0.post(event) } ? self : nil
  }

  /// Whether no more events will come. Read under no lock.
  var isOver: Bool { operation?.state.current.isSettled ?? true }

  func postProgress(_ fraction: Double) {
    if state.withLock({ $0.postProgress(fraction) }) { deliver() }
  }

  func settle(_ outcome: Outcome<any Sendable>, _ proceed: @escaping @Sendable () -> Void) {
    if state.withLock({ $0.settle(outcome, proceed) }) { deliver() }
  }

  func deliver() {
    while let delivery = state.withLock({ $0.nextDelivery() }) {
      switch delivery {
      case .event(let event, let inner, let records):
        // An operation of another kind sees the values of the observed one.
        let context = OperationContext.isUsed ? (inner as? SettlingOperation ?? operation)?.context : nil
        for record in records {
          record.deliver(event, of: record.interests.contains(.tree) ? subject(inner) : nil, in: context)
        }
      case .proceed(let proceed): proceed()
      }
    }
  }

  private func subject(_ inner: Operation?) -> EventSubject? {
    (inner ?? operation).map { EventSubject(operation: $0, isInner: inner != nil) }
  }

  // MARK: - Observers

  func remove(_ record: ObserverRecord) {
    if state.withLock({ $0.remove(record) }) { operation?.cancel() }
  }
}

extension ObserverHub: CompositionMonitor {
  /// Begins to post the children of a composition.
  func monitor(_ composition: Composition) {
    if state.withLock({ $0.beginMonitoring() }) { composition.addMonitor(self, isInherited: false) }
  }

  func composition(_ composition: Composition, didAdd child: Operation, tag: Int) {
    if state.withLock({ $0.postChild(child) }) { deliver() }
  }

  func composition(_ composition: Composition, willStart child: Operation, tag: Int) {}

  func composition(_ composition: Composition, didSettle child: Operation, tag: Int) {}
}
