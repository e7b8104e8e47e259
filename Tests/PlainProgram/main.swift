// A plain program: no async code, a main thread that it blocks or hands to a run loop. Tests run it
// as a process of its own, once for each way of ending; what it prints is what they look at.

import CompositeOperations
import Dispatch
import Foundation

/// An operation that results in `value`, with a word on where it ran if `tells` is set.
func leaf(_ value: Int, tells: Bool = false) -> SimpleOperation<Int> {
  SimpleOperation { operation in
    if tells {
      let queue = OperationQueue.current === OperationQueue.main ? "main queue" : "other queue"
      print("leaf \(value): \(queue), \(Thread.isMainThread ? "main thread" : "other thread")")
    }
    operation.finish(with: value)
  }
}

func printValues(_ outcome: Outcome<[any Sendable]>) {
  print("completion: \(outcome.value as? [Int] ?? [])")
}

/// A composite on the main queue that ends the program when it settled.
func compositeOnMainQueue() -> CompositeOperation {
  let composite = CompositeOperation(operations: (1...3).map { leaf($0, tells: true) }, operationQueue: .main)
  composite.completion = { outcome in
    printValues(outcome)
    exit(0)
  }
  return composite
}

/// Runs an operation, observed on the main actor, and ends the program when its completion there
/// has run.
@MainActor
func runWithMainActorCompletion() {
  var events: [String] = []
  let operation = leaf(1)
  operation.addMainActorObserver { events.append("\($0)") }
  operation.addMainActorCompletion { outcome in
    MainActor.assertIsolated()
    print("main actor: \(outcome), after \(events.first ?? "nothing")")
    exit(0)
  }
  DispatchQueue.global().async { operation.start() }
}

/// The queue of operations does not keep it.
let onMain = DispatchQueue(label: "on main", target: .main)

switch CommandLine.arguments.dropFirst().first {
case "wait-for-queue":
  let composite = CompositeOperation(operations: [leaf(1), leaf(2), AsyncOperation { 3 }])
  composite.completion = printValues
  let queue = OperationQueue()
  queue.addOperation(composite)
  queue.waitUntilAllOperationsAreFinished()
  print("end")

case "wait-for-operation":
  let composite = CompositeOperation(sequence: LinearSequence({ _ in leaf(1) }, { _ in AsyncOperation { 2 } }))
  composite.completion = printValues
  composite.start()
  composite.waitUntilFinished()
  print("end")

case "main-queue-with-run-loop":
  compositeOnMainQueue().start()
  RunLoop.main.run()

case "main-queue-with-dispatch-main":
  compositeOnMainQueue().start()
  dispatchMain()

case "in-queue-that-targets-main":
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  queue.underlyingQueue = onMain
  let composite = CompositeOperation(operations: [leaf(1), leaf(2)], operationQueue: queue)
  composite.completion = { outcome in
    printValues(outcome)
    exit(0)
  }
  queue.addOperation(composite)
  RunLoop.main.run()

case "in-main-queue":
  OperationQueue.main.addOperation(compositeOnMainQueue())
  RunLoop.main.run()

case "main-actor-with-run-loop":
  runWithMainActorCompletion()
  RunLoop.main.run()

case "main-actor-with-dispatch-main":
  runWithMainActorCompletion()
  dispatchMain()

default:
  print("unknown way of ending")
  exit(2)
}
