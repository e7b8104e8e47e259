#if !canImport(Darwin)
import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Detecting that an operation waits in a queue, for which Foundation has no public property.
@Suite("3.4 The queue that an operation waits in", .hangLimit)
struct QueueFieldTests {
  @Test func isInQueue_fromAddingToFinish_isTrue() {
    let queue = OperationQueue()
    queue.isSuspended = true
    let operations = [BlockOperation(), SimpleOperation<Void>()]
    #expect(operations.map(\.isInQueue) == [false, false])
    #expect(operations.map { QueueField.mayBeSet(of: $0) } == [false, false])
    for operation in operations { queue.addOperation(operation) }
    #expect(operations.map(\.isInQueue) == [true, true])
    #expect(operations.map { QueueField.mayBeSet(of: $0) } == [true, true])
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    #expect(operations.map(\.isInQueue) == [false, false])
  }

  #if os(macOS) || os(Linux)
  @Test func check_fieldIsCalledOtherwise_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      QueueField.check(label: "_owner")
    }
    let message = try String(decoding: #require(result).standardErrorContent, as: UTF8.self)
    for word in ["Foundation", "_owner", "OperationQueue"] {
      #expect(message.contains(word), "“\(word)” is missing in: \(message)")
    }
  }
  #endif

  @Test func check_fieldOfThisFoundation_passes() {
    QueueField.check(label: QueueField.label)
    #expect(QueueField.isKnown)
  }
}
#endif
