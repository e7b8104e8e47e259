import Foundation

/// An operation, and perhaps a second one made from how the first ended: the engine of `then`, `map` and `recover`.
final class ChainSource: SequentialSource, @unchecked Sendable {  // only whoever is asking touches the fields
  private var upstream: Operation?
  private var second: ((Operation) throws -> Step)?
  private let runsBoth: Bool

  /// - Parameters:
  ///   - upstream: the first operation, which this starts unless somebody else does.
  ///   - runsBoth: whether a second operation is expected, so that the first is half of the work.
  ///   - second: decides what comes after it. Called where the operations run. What it throws settles the owner.
  init(_ upstream: Operation, runsBoth: Bool = false, then second: @escaping (Operation) throws -> Step) {
    self.runsBoth = runsBoth
    self.upstream = upstream
    self.second = second
    super.init(joins: true)
  }

  deinit {
    ReleaseList.release(&upstream)
    ReleaseList.release(&second)
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    guard let previous else { return upstream.take().map { .run($0) } ?? .settle(.cancelled) }
    guard count == 1, let second = second.take() else { return .settleLike(previous) }
    do {
      return try second(previous)
    } catch {
      return error is CancellationError ? .settle(.cancelled) : .settle(.failure, error: error)
    }
  }

  override var progressShape: ProgressShape { runsBoth ? .steps(2) : .inner }

  override func takeUnasked() -> Operation? { upstream.take() }

  override func discardSteps() {
    upstream = nil
    second = nil
  }
}

extension SequentialSource.Step {
  /// Settles the owner as `operation` has ended.
  static func settleLike(_ operation: Operation) -> Self {
    switch operation.anyOutcome {
    case .success(let value): .settle(.success, value: value)
    case .failure(let error): .settle(.failure, error: error)
    case .cancelled, nil: .settle(.cancelled)
    }
  }
}
