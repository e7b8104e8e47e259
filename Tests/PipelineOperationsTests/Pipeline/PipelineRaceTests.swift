import CompositeOperations
import Foundation
import OperationTimelines
import PipelineOperations
import TestSupport
import Testing

/// Cancels, starts and settlements at any moment, from several threads.
@Suite("Races of pipelines", .timeLimit(.minutes(30)))
struct PipelineRaceTests {
  private static let rounds = Scale.count(4_000, least: 50)

  @Test("BkTask 11 A cancel at any moment: one outcome, and no step begins after one that was cancelled")
  func cancel_atAnyMoment_leavesNothingRunning() async {
    for round in 0..<PipelineRaceTests.rounds {
      let log = EventRecorder<String>()
      let pipeline = Pipeline(of: Int.self)
        .then(Tee { _ in log.record("a") })
        .then(Tee { _ in await Task.yield() })
        .then { number in
          SimpleOperation<Int> { operation in DispatchQueue.global().async { operation.finish(with: number) } }
        }
        .then(Tee { _ in log.record("z") })
      let operation = pipeline.operation(for: 7)
      let spy = CompletionSpy<Int>()
      operation.completion = spy.completion
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await onWorker { operation.start() } }
        group.addTask {
          for _ in 0..<round % 7 { await Task.yield() }
          operation.cancel()
        }
        if round % 3 == 0 { group.addTask { operation.cancel() } }
      }
      let outcome = await spy.first()
      await finished(operation)
      switch outcome {
      case .success(let value): if value != 7 || log.count(of: "z") != 1 { Issue.record("round \(round): \(outcome)") }
      case .failure: Issue.record("round \(round): \(outcome)")
      case .cancelled: if !operation.isCancelled { Issue.record("round \(round): cancelled without being so") }
      }
      if spy.count != 1 || log.count(of: "a") > 1 { Issue.record("round \(round): \(spy.count), \(log.events)") }
    }
  }

  @Test func settlements_byOthers_atAnyMoment_areOne() async {
    for round in 0..<PipelineRaceTests.rounds / 4 {
      let operation = Pipeline(Add(1)).then(Tee { _ in await Task.yield() }).operation(for: 1)
      let spy = CompletionSpy<Int>()
      operation.completion = spy.completion
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await onWorker { operation.start() } }
        group.addTask { operation.finish(with: 99) }
        group.addTask { _ = operation.fractionCompleted }
        group.addTask { _ = operation.mermaid() }
      }
      let value = await spy.first().value
      if value != 2 && value != 99 || spy.count != 1 { Issue.record("round \(round): \(String(describing: value))") }
    }
  }

  @Test func manyRuns_onOneQueue_withProgressAndDrawings() async {
    let queue = OperationQueue(limit: 3)
    let pipeline = Pipeline(Add(1)).then(Add(2).on(queue)).then(
      Transform(reporting: { number, progress in
        progress.report(0.5)
        return number
      })
    ).then(MapElements(maxConcurrent: 2, Add(4)).ofPair)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          let operation = pipeline.operation(for: number)
          _ = operation.fractionCompleted
          operation.addObserver { _ in _ = operation.fractionCompleted }
          if number % 2 == 0 { queue.addOperation(operation) } else { operation.start() }
          if number % 5 == 0 { operation.cancel() }
          _ = operation.mermaid()
          let outcome = await settled(operation)
          if let value = outcome.value, value != [number + 7, number + 7] { Issue.record("\(number): \(value)") }
          if outcome.error != nil || number % 5 != 0 && outcome.isCancelled { Issue.record("\(number): \(outcome)") }
        }
      }
    }
  }
}

extension MapElements where Element == Int {
  /// The step, given one number, for two of it.
  fileprivate var ofPair: Pipeline<Int, [Result]> {
    Transform { (number: Int) in [number, number] }.then(self)
  }
}
