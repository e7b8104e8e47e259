// A completion takes the outcome, not a value and an error.
import CompositeOperations

func completions(_ operation: SimpleOperation<Int>, _ composite: CompositeOperation) {
  operation.completion = { result, error in print(1) }  // error: takes one argument, the outcome
  operation.completion = { result, error in  // error: takes one argument, the outcome
    if let error { print(error) } else { print(result!) }
  }
  composite.completion = { result, error in }  // error: takes one argument, the outcome
}
