// compiles
import CompositeOperations

func completions(_ operation: SimpleOperation<Int>, _ composite: CompositeOperation) {
  operation.completion = { print($0) }
  operation.completion = { _ in }
  operation.completion = { outcome in
    switch outcome {
    case .success(let value): print(value)
    case .failure(let error): print(error)
    case .cancelled: print("cancelled")
    }
  }
  operation.completion?(.cancelled)
  let previous = operation.completion
  operation.completion = { outcome in
    previous?(outcome)
    print(outcome)
  }
  operation.completion = nil
  if composite.completion == nil { composite.completion = { print($0.value ?? []) } }
}

func generic<Value>(_ operation: SimpleOperation<Value>) {
  operation.completion = { print($0) }
}

func chains(_ operation: SimpleOperation<Int>) {
  _ = operation.then { number in
    let next = number + 1
    return SimpleOperation<Int> { next }
  }
  .then { number in SimpleOperation { "\(number)" } }
  .then { text in AsyncOperation { text.count } }
  .map { print($0) }
}
