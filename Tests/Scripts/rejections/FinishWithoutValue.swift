// Bodies that settle without the value, which the compiler took for bodies without an argument.
import CompositeOperations
import Foundation

func making() {
  _ = SimpleOperation<Int> { operation in
    DispatchQueue.global().async { operation.finish() }  // error: Say finish(with:) and the value
  }
  _ = SimpleOperation<Void> { operation in
    DispatchQueue.global().async { operation.finish() }
  }
}

final class Working: SimpleOperation<Int>, @unchecked Sendable {
  override func main() { finish() }  // error: Say finish(with:) and the value
}
