public import CompositeOperations
import Foundation

/// A subclass as users write it: overrides `main` and finishes there.
public final class Doubling: SimpleOperation<Int>, @unchecked Sendable {  // `number` is immutable
  private let number: Int

  /// Makes an operation that results in twice `number`.
  public init(_ number: Int) {
    self.number = number
    super.init()
  }

  public override func main() {
    finish(with: number * 2)
  }
}

/// An operation that succeeds with `value` in its body, recording its name first if there is a
/// recorder.
public func succeeding<Value: Sendable>(
  _ value: Value, named name: String? = nil, recorder: EventRecorder<String>? = nil
) -> SimpleOperation<Value> {
  let operation = SimpleOperation<Value> { operation in
    recorder?.record(name ?? "succeeding")
    operation.finish(with: value)
  }
  operation.name = name
  return operation
}

/// An operation that fails with `error` in its body, recording its name first if there is a
/// recorder.
public func failing<Value: Sendable>(
  _ error: any Error, as type: Value.Type = Int.self, named name: String? = nil, recorder: EventRecorder<String>? = nil
) -> SimpleOperation<Value> {
  let operation = SimpleOperation<Value> { operation in
    recorder?.record(name ?? "failing")
    operation.reject(with: error)
  }
  operation.name = name
  return operation
}

/// An operation that settles `.cancelled` from inside its body, as one does that was cancelled from
/// outside while it ran.
public func cancelling<Value: Sendable>(as type: Value.Type = Int.self, named name: String? = nil) -> SimpleOperation<
  Value
> {
  let operation = SimpleOperation<Value> { $0.settle(with: .cancelled) }
  operation.name = name
  return operation
}
