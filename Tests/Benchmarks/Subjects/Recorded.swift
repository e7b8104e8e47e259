import CompositeOperations
import OperationTimelines

/// Composites that are recorded; making and releasing the recorder is a part of the work.
enum Recorded {
  static func runParallel(_ count: Int) {
    run(CompositeOperation(operations: (0..<count).map { _ in emptyOperation() }))
  }

  static func runNested(outer: Int, inner: Int) {
    run(
      CompositeOperation(
        operations: (0..<outer).map { _ in CompositeOperation(operations: (0..<inner).map { _ in emptyOperation() }) }))
  }

  private static func run(_ operation: CompositeOperation) {
    let recorder = TimelineRecorder()
    recorder.attach(to: operation)
    finish(operation)
  }
}
