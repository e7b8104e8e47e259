import CompositeOperations
import Foundation
import Synchronization

// Tasks as they are added, started and cancelled.

/// Ids are numbers of the process.
private let lastID = Atomic(0)

extension ManagerCore {
  func add<T: ManagedTask>(
    _ task: T, startImmediately: Bool, after delay: Duration?, timeout: Duration?
  ) -> OperationHandle<T.Value> {
    let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
    let job = ManagedJob(task, id: id)
    let handle = OperationHandle<T.Value>(id: id, owner: self)
    _ = handle.observe(self, tag: id)
    if startImmediately { job.keep(handle) } else { job.expect(handle) }
    let timeout = timeout ?? task.timeout
    guard input({ $0.add(id, job, delay: delay, timeout: timeout) }) else {
      let error = ManagedTaskError(.stopped, taskID: id, taskDescription: job.taskDescription)
      handle.reject(with: error)
      input { $0.refused(job, outcome: .failure(error)) }
      warnOfRefusal(of: job)
      return handle
    }
    if startImmediately { handle.start() }
    return handle
  }
}

// MARK: - For handles and groups

extension ManagerCore: HandleOwner {
  func start(_ handle: SettlingOperation, id: Int) {
    input { state in
      guard state.start(id) else { return }
      state.jobs[id]?.payload.keep(handle)
    }
  }

  func cancel(_ id: Int) -> Bool { input { $0.cancel(id) } }

  func forget(_ id: Int) { input { $0.forget(id) } }

  /// The task-local values of a task: those of its handle.
  func context(of job: any AnyManagedJob) -> ContextValues? {
    guard OperationContext.isUsed else { return nil }
    let (handle, first) = withLock { _ in (job.anyHandle, job.firstContext) }
    return handle?.context ?? first
  }

  func operation(of id: Int) -> SettlingOperation? {
    withLock { storage in
      guard let job = storage.state.jobs[id], job.isUnderWay else { return nil }
      return job.payload.anyOperation
    }
  }

  func taskState(of id: Int) -> ManagedTaskState {
    withLock { storage in
      guard let job = storage.state.jobs[id] else { return .finished }
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

  func groupStarted(_ waiting: [Int]) { input { $0.groupStarted(waiting) } }

  func groupEnded() { input { $0.groupEnded() } }
}

// MARK: - For the batches of interceptors

extension ManagerCore: BatchOwner {
  func heldCount(of interceptor: Int) -> Int { withLock { $0.state.batches[interceptor].count } }

  func release(_ maxCount: Int, of interceptor: Int) -> Int {
    maxCount > 0 ? input { $0.release(maxCount, of: interceptor) } : 0
  }

  func isHeld(_ id: Int, number: Int, by interceptor: Int) -> Bool {
    withLock { $0.state.jobs[id]?.phase == .held(interceptor: interceptor, number: number) }
  }

  func release(filling: Int, of interceptor: Int) -> Int {
    input { state in
      state.batches[interceptor].generation == filling ? state.release(.max, of: interceptor) : 0
    }
  }

  func release(_ id: Int, number: Int, of interceptor: Int) -> Bool {
    input { $0.release(id: id, number: number, of: interceptor) }
  }
}
