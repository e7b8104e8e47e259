// A delegate that composites would call on other threads.
import CompositeOperations
import Foundation

@MainActor
final class Steps: @MainActor CompositeOperation.Sequence {  // error: cannot form main actor-isolated conformance
  func nextOperation(after previous: Operation?) -> Operation? { nil }
}
