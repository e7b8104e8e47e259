import CompositeOperations
import Foundation
import Observation
import TestSupport

// Typical code of an app: models, operations and a delegate. In this target all of it belongs to
// the main actor, unless it is `nonisolated`.

/// The model of a view. Belongs to the main actor.
@Observable
final class ForecastModel {
  private(set) var text = ""
  private(set) var steps: [String] = []
  private(set) var isLoading = false

  func load(_ fetch: SimpleOperation<String>, in queue: OperationQueue) {
    isLoading = true
    fetch.addMainActorObserver { [weak self] event in
      self?.steps.append("\(event)")
    }
    fetch.addMainActorCompletion { outcome in
      self.isLoading = false
      self.text = outcome.value ?? "no forecast"
    }
    queue.addOperation(fetch)
  }

  func loadAndWait(_ fetch: SimpleOperation<String>) async {
    isLoading = true
    defer { isLoading = false }
    do {
      text = try await fetch.run()
    } catch {
      text = "no forecast"
    }
  }

  func follow(_ operation: SettlingOperation) async {
    for await event in operation.events() { steps.append("\(event)") }
  }

  func note(_ step: String) { steps.append(step) }
}

/// An operation of the app whose work returns.
nonisolated final class CountLetters: SimpleOperation<Int>, @unchecked Sendable {  // immutable
  private let text: String

  init(in text: String) {
    self.text = text
    super.init()
  }

  override func perform() throws -> Int {
    if text.isEmpty { throw TestError.first }
    return text.count
  }
}

/// An operation of the app whose work calls back.
nonisolated final class Fetch: SimpleOperation<String>, @unchecked Sendable {  // immutable
  override func main() {
    DispatchQueue.global().async { self.finish(with: "sunny") }
  }

  override func didCancel() {
    settle(with: .cancelled)
  }
}

/// A composite of the app.
nonisolated final class Import: CompositeOperation, @unchecked Sendable {
  init(_ texts: [String]) {
    super.init(operations: texts.map { CountLetters(in: $0) })
  }
}

/// A delegate that reads the model: with `operationQueue: .main` it is called on the main thread.
nonisolated struct ModelSteps: CompositeOperation.Sequence {
  let model: ForecastModel

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    MainActor.assumeIsolated {
      let length = previous?.result(as: Int.self)
      model.note(length.map { "counted \($0)" } ?? "asked first")
      return model.steps.count < 3 ? CountLetters(in: "step \(model.steps.count)") : nil
    }
  }
}
