import CompositeOperations
import Foundation

/// A slot of the queue that the user wants jobs to run in: an operation in it, which has a child when a job was claimed for it.
///
/// No queue of Foundation's says whether it has a slot free. So as many places are added to it as jobs are due, and a job
/// is claimed when a place has been started: what is claimed can begin at once, and what waits can still be run by other
/// processes.
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
        // It may have been stopped in between.
        guard storage.state.isAsked(number) else { return false }
        storage.places[number] = place
        return true
      }
      if isWanted { queue.addOperation(place.operation) }
    }
  }

  private func makePlace(_ number: Int, in queue: OperationQueue) -> JobPlace {
    let driver = DrivenOperation<Void>.Driver(
      didStart: { [weak self] place in
        // The durable queue may have been stopped, or be gone.
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

  /// Returns false if it is not wanted any more.
  private func placeStarted(_ number: Int) -> Bool {
    guard withLock({ $0.state.placeStarted(number) }) else { return false }
    pump()
    return true
  }

  /// Somebody has cancelled what the user's queue holds. Returns whether a job runs there, which is cancelled, and ends the
  /// place. Otherwise another one is asked for.
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

  /// Frees places that no job was claimed for.
  func giveBack(_ numbers: some Sequence<Int>) {
    for number in numbers { withLock { $0.places.removeValue(forKey: number) }?.giveBack() }
  }
}
