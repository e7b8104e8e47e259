// The first guesses at how a composite is made.
import CompositeOperations
import Foundation

func making(_ first: SimpleOperation<Int>, _ second: BlockOperation) {
  _ = CompositeOperation([first, second])  // error: Say CompositeOperation(operations: […])
  _ = CompositeOperation(first, second)  // error: Give an array
}
