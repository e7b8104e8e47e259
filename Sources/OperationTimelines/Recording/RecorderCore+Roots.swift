import CompositeOperations
import Foundation

extension RecorderCore {
  func attach(_ operation: Operation) {
    let tag = state.withLock { state in
      state.roots.append(Root(operation))
      return Int32(state.roots.count)
    }
    record(.added, scope: 0, tag: Int(tag))
    let observer = RootObserver(self)
    guard let own = operation as? SettlingOperation else {
      record(.started, scope: 0, tag: Int(tag))
      return ForeignOperations.observe(operation, observer, tag: Int(tag))
    }
    if let source = own.source {
      guard attach(source, of: own, tag: tag) else { return }
    } else if own.isExecuting {
      record(.started, scope: 0, tag: Int(tag))
    } else {
      own.addLifecycleObserver { [self] event in
        if case .started = event.content { record(.started, scope: 0, tag: Int(tag)) }
      }
    }
    if !own.observe(observer, tag: Int(tag)) { observer.operationDidSettle(own, tag: Int(tag)) }
  }

  /// False if the composition is recorded already.
  private func attach(_ source: WorkSource, of operation: SettlingOperation, tag: Int32) -> Bool {
    guard adopt(source, in: 0, tag: tag, isLate: operation.hasBegun) else {
      // There is no such operation: it stands where it is recorded already.
      state.withLock { $0.replacedRoots[tag] = Owner(scope: 0, tag: 0) }
      return false
    }
    // It may have started while the recorder was being attached.
    if operation.hasBegun {
      if operation.isExecuting { record(.started, scope: 0, tag: Int(tag)) }
      catchUp(source)
    }
    return true
  }
}
