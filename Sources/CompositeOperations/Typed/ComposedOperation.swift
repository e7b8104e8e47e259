import Foundation

/// The operation that `then`, `zip` and their kind return: it settles as the composition behind it decides.
final class ComposedOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // immutable
  private enum Engine {
    case parallel(ParallelSource)
    case sequential(SequentialSource)
  }

  private let engine: Engine

  init(_ source: ParallelSource) {
    engine = .parallel(source)
    super.init(flags: .composes)
  }

  init(_ source: SequentialSource) {
    engine = .sequential(source)
    super.init(flags: .composes)
  }

  override var source: WorkSource? {
    switch engine {
    case .parallel(let source): source
    case .sequential(let source): source
    }
  }

  override func main() {
    begin(cancelled: false)
  }

  override func settleUnrun() {
    begin(cancelled: true)
  }

  private func begin(cancelled: Bool) {
    source?.bind(to: self, queue: nil)
    switch engine {
    case .parallel(let source): source.begin(cancelled: cancelled)
    case .sequential(let source): source.begin(cancelled: cancelled)
    }
  }

  override func propagateCancel() {
    switch engine {
    case .parallel(let source): source.cancel()
    case .sequential(let source): source.cancel()
    }
  }
}
