// First guesses at making a composite.
import CompositeOperations
import Foundation

func making(_ first: SimpleOperation<Int>, _ second: BlockOperation) {
  _ = CompositeOperation([first, second])  // error: Say CompositeOperation(operations: […])
  _ = CompositeOperation(first, second)  // error: Give an array
}
