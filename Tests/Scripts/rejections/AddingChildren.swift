// A composite knows its children when it is made.
import CompositeOperations
import Foundation

func adding(_ composite: CompositeOperation, _ child: SimpleOperation<Int>) {
  composite.add(child)  // error: pass them to init
  composite.addChild(child)  // error: pass them to init
  composite.addOperation(BlockOperation {})  // error: pass them to init
}
