import CompositeOperations
import ManagedOperations
import TestSupport

/// A task that gives its number.
struct Number: ManagedTask {
  var number: Int
  var recorder: EventRecorder<Int>?

  init(_ number: Int, recorder: EventRecorder<Int>? = nil) {
    self.number = number
    self.recorder = recorder
  }

  func makeOperation() -> SimpleOperation<Int> {
    let number = number
    let recorder = recorder
    return SimpleOperation { operation in
      recorder?.record(number)
      operation.finish(with: number)
    }
  }
}

/// A task whose operations are handed out by a closure, which gets the number of the attempt.
struct Scripted<Value: Sendable>: ManagedTask {
  let attempts = Locked(0)
  let make: @Sendable (_ attempt: Int) throws -> SimpleOperation<Value>

  init(_ make: @escaping @Sendable (_ attempt: Int) throws -> SimpleOperation<Value>) {
    self.make = make
  }

  func makeOperation() throws -> SimpleOperation<Value> { try make(attempts.increment()) }
}

/// What a handle failed with, if that is an error of the manager's.
func managedError<Value>(_ outcome: Outcome<Value>) -> ManagedTaskError? { outcome.error as? ManagedTaskError }
