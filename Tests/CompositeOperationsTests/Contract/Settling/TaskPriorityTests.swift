import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The task of an async operation has the priority of its quality of service: 9 for background, 17
/// for utility, 21 for default, 25 for user-initiated, 33 for user-interactive.
@Suite("8 The priority of an async operation's task", .hangLimit)
struct TaskPriorityTests {
  static let classes: [(QualityOfService, UInt8)] = [
    (.background, 9), (.utility, 17), (.default, 21), (.userInitiated, 25), (.userInteractive, 33),
  ]

  /// Succeeds with the initial priority of its task, before a waiter can raise it.
  private func probe(_ qualityOfService: QualityOfService? = nil) -> AsyncOperation<UInt8> {
    let operation = AsyncOperation { Task.currentBasePriority }
    if let qualityOfService { operation.qualityOfService = qualityOfService }
    return operation
  }

  @Test("It is that of the operation's own class", arguments: classes)
  func own_class(_ qualityOfService: QualityOfService, _ priority: UInt8) async throws {
    #expect(try await probe(qualityOfService).run() == priority)
    #expect(await outcomeOfStarting(probe(qualityOfService)).value == priority)
  }

  @Test("Without one it is that of the queue", arguments: classes)
  func queue_class(_ qualityOfService: QualityOfService, _ priority: UInt8) async throws {
    let queue = OperationQueue()
    queue.qualityOfService = qualityOfService
    #expect(try await queue.run(probe()) == priority)
    #expect(try await queue.run(probe(.utility)) == 17)
  }

  @Test("Without one it is that of the composite, parallel, in a sequence and nested", arguments: classes)
  func composite_class(_ qualityOfService: QualityOfService, _ priority: UInt8) async {
    let composites = [
      CompositeOperation(operations: [probe()]),
      CompositeOperation(sequence: ListSequence([probe()])),
      CompositeOperation(operations: [probe()], operationQueue: OperationQueue()),
    ]
    for composite in composites {
      composite.qualityOfService = qualityOfService
      #expect(await outcomeOfStarting(composite).value as? [UInt8] == [priority])
    }
    let inner = CompositeOperation(operations: [probe()])
    let outer = CompositeOperation(operations: [inner])
    outer.qualityOfService = qualityOfService
    _ = await outcomeOfStarting(outer)
    #expect(inner.result as? [UInt8] == [priority])
  }

  @Test("In a composite the higher one counts")
  func composite_andOwnClass_higherCounts() async {
    let composite = CompositeOperation(operations: [probe(.background), probe(.userInteractive)])
    composite.qualityOfService = .userInitiated
    #expect(await outcomeOfStarting(composite).value as? [UInt8] == [25, 33])
  }

  @Test("In a chain it is that of the chain, also for mapAsync", arguments: classes)
  func chain_class(_ qualityOfService: QualityOfService, _ priority: UInt8) async {
    let chains = [
      probe().map { $0 }, succeeding(1).then { _ in AsyncOperation { Task.currentBasePriority } },
      succeeding(1).mapAsync { _ in Task.currentBasePriority },
    ]
    for chain in chains {
      chain.qualityOfService = qualityOfService
      #expect(await outcomeOfStarting(chain).value == priority)
    }
  }

  @Test("A composition in a queue takes that of the queue over", arguments: classes)
  func composition_inQueue(_ qualityOfService: QualityOfService, _ priority: UInt8) async throws {
    let queue = OperationQueue()
    queue.qualityOfService = qualityOfService
    #expect(try await queue.run(probe().map { $0 }) == priority)
    #expect(try await queue.run(CompositeOperation(operations: [probe()])) as? [UInt8] == [priority])
  }

  @Test("The priority that the initialiser was given wins")
  func explicit_priority_wins() async throws {
    let operation = AsyncOperation(priority: .low) { Task.currentBasePriority }
    operation.qualityOfService = .userInitiated
    let composite = CompositeOperation(operations: [operation])
    composite.qualityOfService = .userInteractive
    #expect(await outcomeOfStarting(composite).value as? [UInt8] == [TaskPriority.low.rawValue])
  }

  #if !canImport(Darwin)
  @Test("Where there is nothing of the kind it is the default")
  func noClass_isDefault() async {
    #expect(await outcomeOfStarting(probe()).value == 21)
  }
  #endif
}

extension Task where Success == Never, Failure == Never {
  /// The priority that the task was made with.
  fileprivate static var currentBasePriority: UInt8 { basePriority?.rawValue ?? 0 }
}
