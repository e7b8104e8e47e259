import CompositeOperations

// What those who watch are told, in the order in which it happened.

extension ManagerState {
  mutating func note(_ job: Job?, _ notice: @autoclosure () -> ManagerNotice) {
    if isObserved, let job { outbox.append((job.payload, job.attempt, notice())) }
  }
}
