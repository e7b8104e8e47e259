// The closure of `then` must return the operation.
import CompositeOperations

func one() -> SimpleOperation<Int> { SimpleOperation { 1 } }

func chains() {
  _ = one().then { number in  // error: write 'return' before it
    let next = number + 1
    SimpleOperation<Int> { next }
  }
  _ = one().then { print($0) }  // error: use map(_:)
  _ = one().then { $0 + 1 }  // error: use map(_:)
}
