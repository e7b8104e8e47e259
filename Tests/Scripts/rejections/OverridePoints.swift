// compiles
import CompositeOperations
import Foundation

final class Working: SimpleOperation<Int>, @unchecked Sendable {
  override func main() { finish(with: 1) }
  override func cancel() { super.cancel() }
  override func didCancel() {}
  override var name: String? {
    get { "working" }
    set {}
  }
  override var qualityOfService: QualityOfService {
    get { .utility }
    set {}
  }
  override func addDependency(_ operation: Operation) { super.addDependency(operation) }
}

final class Returning: SimpleOperation<Int>, @unchecked Sendable {
  override func perform() throws -> Int { 1 }
}

final class Composing: CompositeOperation, @unchecked Sendable {
  override func main() { super.main() }
  override func cancel() { super.cancel() }
  override func didCancel() {}
}
