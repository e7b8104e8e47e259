import CompositeOperations
import Foundation
import Synchronization

// Tasks as they are added, started and cancelled.

/// The identifiers of the process.
private let lastIdentifier = Atomic(0)

extension ManagerCore {
  func add<T: ManagedTask>(
    _ task: T, startImmediately: Bool, after delay: Duration?, timeout: Duration?
  ) -> OperationHandle<T.Value> {
    let identifier = lastIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
    let job = ManagedJob(task, identifier: identifier)
    let handle = OperationHandle<T.Value>(identifier: identifier, owner: self)
    _ = handle.observe(self, tag: identifier)
    if startImmediately { job.keep(handle) } else { job.expect(handle) }
    let timeout = timeout ?? task.timeout
    guard input({ $0.add(identifier, job, delay: delay, timeout: timeout) }) else {
      let error = ManagedTaskError(.shutDown, taskIdentifier: identifier, taskDescription: job.taskDescription)
      handle.reject(with: error)
      tellOfRefusal(of: job, error)
      return handle
    }
    if startImmediately { handle.start() }
    return handle
  }
}

extension ManagerCore: HandleOwner {
  func start(_ handle: SettlingOperation, identifier: Int) {
    input { state in
      guard state.start(identifier) else { return }
      state.jobs[identifier]?.payload.keep(handle)
    }
  }

  func cancel(_ identifier: Int) -> Bool {
    input { $0.cancel(identifier) }
  }

  func forget(_ identifier: Int) {
    let job = withLock { $0.state.forget(identifier) }
    withExtendedLifetime(job) {}
  }

  func operation(of identifier: Int) -> SettlingOperation? {
    withLock { storage in
      guard let job = storage.state.jobs[identifier], job.isUnderWay else { return nil }
      return job.payload.anyOperation
    }
  }

  func taskState(of identifier: Int) -> ManagedTaskState {
    withLock { storage in
      guard let job = storage.state.jobs[identifier] else { return .finished }
      return switch job.phase {
      case .pending: .pending
      case .delayed: .delayed
      case .waiting, .intercepting: .intercepting
      case .held: .held
      case .ready: .queued
      case .executing: .executing
      case .concluding, .reacting: .reacting
      case .settling: .finished
      }
    }
  }

  func groupStarted() { input { $0.groupStarted() } }

  func groupEnded() { input { $0.groupEnded() } }
}

extension ManagerCore: BatchOwner {
  func heldCount(of interceptor: Int) -> Int {
    withLock { $0.state.batches[interceptor].count }
  }

  func release(_ maxCount: Int, of interceptor: Int) -> Int {
    maxCount > 0 ? input { $0.release(maxCount, of: interceptor) } : 0
  }

  func isHeld(_ identifier: Int, number: Int, by interceptor: Int) -> Bool {
    withLock { $0.state.jobs[identifier]?.phase == .held(interceptor: interceptor, number: number) }
  }

  func release(filling: Int, of interceptor: Int) -> Int {
    input { state in
      state.batches[interceptor].generation == filling ? state.release(.max, of: interceptor) : 0
    }
  }

  func release(_ identifier: Int, number: Int, of interceptor: Int) -> Bool {
    input { $0.release(id: identifier, number: number, of: interceptor) }
  }
}
