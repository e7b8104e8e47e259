// What those who watch are told, in the order in which it happened.

extension ManagerState {
  mutating func note(_ job: Job?, _ notice: @autoclosure () -> ManagerNotice) {
    if isObserved, let job { outbox.append((job.payload, job.attempt, notice())) }
  }

  /// Whether the caller has to tell what has happened. If somebody is doing that already, he goes on with it.
  mutating func beginDelivery() -> Bool {
    guard !outbox.isEmpty, !isDelivering else { return false }
    isDelivering = true
    return true
  }

  /// What is to be told next; nil if the caller is done with it.
  mutating func nextDelivery() -> [Entry]? {
    guard !outbox.isEmpty else {
      isDelivering = false
      return nil
    }
    defer { outbox = [] }
    return outbox
  }
}
