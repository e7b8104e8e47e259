import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.3 Where run() executes main", .hangLimit)
struct RunThreadTests {
  @Test("3.1.3 run() executes main outside every task")
  func run_executesMain_outsideTasks() async throws {
    let isInTask = try await SimpleOperation<Bool> { operation in
      operation.finish(with: withUnsafeCurrentTask { $0 != nil })
    }.run()
    #expect(!isInTask)
  }

  @Test("3.1.3 run() from the main actor executes main off the main thread and off the main queue")
  @MainActor
  func run_fromMainActor_executesMainElsewhere() async throws {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    defer { DispatchQueue.main.setSpecific(key: key, value: nil) }
    let isMain = try await SimpleOperation<Bool> { operation in
      operation.finish(with: Thread.isMainThread || DispatchQueue.getSpecific(key: key) == true)
    }.run()
    #expect(!isMain)
  }

  @Test("3.1.3 run() never occupies the cooperative pool, however many bodies block")
  func run_ofBlockingBodies_leavesTasksRunning() async throws {
    let gate = Gate()
    let operations = (0..<ProcessInfo.processInfo.activeProcessorCount).map { number in
      SimpleOperation<Int> { operation in
        gate.waitBlocking()
        operation.finish(with: number)
      }
    }
    // As many as would fill the cooperative pool of this machine: if they ran there, no thread
    // would be left to open the gate.
    let running = operations.map { operation in Task { try await operation.run() } }
    for _ in 0..<1000 { await Task.yield() }
    gate.open()
    for (number, task) in running.enumerated() { #expect(try await task.value == number) }
  }

  @Test("3.1.3 run() of a composite runs its children outside every task")
  func run_ofComposite_runsChildrenOutsideTasks() async throws {
    let children = (0..<10).map { _ in
      SimpleOperation<Bool> { operation in operation.finish(with: withUnsafeCurrentTask { $0 != nil }) }
    }
    let values = try await CompositeOperation(operations: children).run()
    #expect(values as? [Bool] == Array(repeating: false, count: 10))
  }
}
