import CompositeOperations
import Foundation

/// A slot of the user's queue in which jobs run: an operation in that queue, which gets a child
/// when a job was claimed for it.
///
/// No queue of Foundation tells whether it has a free slot. So the core adds as many places as jobs
/// are due, and claims a job when a place has started: a claimed job can begin at once, and other
/// processes can still run the waiting ones.
struct JobPlace: Sendable {
  let number: Int
  let operation: DrivenOperation<Void>

  /// Frees the slot.
  func giveBack() {
    operation.settle(with: operation.isCancelled ? .cancelled : .success(()))
  }
}

extension QueueCore {
  /// Adds places to the queue.
  func ask(for numbers: [Int]) {
    guard let queue = configuration.operationQueue else { return }
    for number in numbers {
      let place = makePlace(number, in: queue)
      let isWanted = withLock { storage in
        // The queue may have been stopped in between.
        guard storage.state.isAsked(number) else { return false }
        storage.places[number] = place
        return true
      }
      if isWanted { queue.enter(place.operation) }
    }
  }

  private func makePlace(_ number: Int, in queue: OperationQueue) -> JobPlace {
    let driver = DrivenOperation<Void>.Driver(
      didStart: { [weak self] place in
        // The durable queue may have been stopped or released.
        if self?.placeStarted(number) != true { place.finish() }
      },
      makeOperation: { [weak self] _, execution in self?.makeOperation(execution) },
      operationDidSettle: { [weak self] _, operation, execution in
        self?.ended(execution, operation.anyOutcome ?? .cancelled)
        return []
      },
      wasCancelled: { [weak self] place in
        if self?.placeWasCancelled(number) != true { place.settle(with: .cancelled) }
      })
    let operation = DrivenOperation<Void>(operationQueue: queue, driver: driver)
    operation.name = "durable job"
    return JobPlace(number: number, operation: operation)
  }

  /// Returns false if the place is no longer needed.
  private func placeStarted(_ number: Int) -> Bool {
    guard withLock({ $0.state.placeStarted(number) }) else { return false }
    pump()
    return true
  }

  /// Handles a cancel of the user's queue. Returns whether a job runs in the place; the job is then
  /// cancelled, and ends the place. Otherwise another place is added.
  private func placeWasCancelled(_ number: Int) -> Bool {
    let execution = withLock { storage in
      storage.state.placeWasCancelled(number)
      storage.places[number] = nil
      return storage.executions.values.first { $0.place?.number == number }
    }
    guard let execution else {
      pump()
      return false
    }
    if !giveBack(execution) { withLock { _ in execution.operation }?.cancel() }
    return true
  }

  /// Frees places for which no job was claimed.
  func giveBack(_ numbers: some Sequence<Int>) {
    for number in numbers { withLock { $0.places.removeValue(forKey: number) }?.giveBack() }
  }
}
