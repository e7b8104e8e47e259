import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

/// What was wrong in BkTask, and is right here. 7 and 8 are about requests: see `LoadURLTests`.
@Suite("Bugs 1 to 9 of BkTask", .timeLimit(.minutes(30)))
struct OriginalBugsB01ToB09 {
  @Test("BkTask 1 A copy keeps the order of the steps")
  func b01_copiesKeepTheOrder() async throws {
    var pipeline = Pipeline(of: String.self)
    for letter in "abcdefghijklmnopqrstuvwxyz" { pipeline = pipeline.then { $0 + String(letter) } }
    let copy = pipeline
    #expect(try await copy.run("") == "abcdefghijklmnopqrstuvwxyz")
    #expect(try await copy.then(copy).run("").count == 52)
  }

  @Test("BkTask 2 Closures can be in any number of pipelines")
  func b02_closuresCanBeCopied() async throws {
    let step = Transform<Int, Int> { 2 * $0 }
    let (first, second) = (Pipeline(step).then(step), Pipeline(Add(1)).then(step))
    #expect(try await first.run(1) == 4)
    #expect(try await second.run(1) == 4)
  }

  @Test(
    "BkTask 3 A pipeline made of another one keeps what its steps were set up with, and each run has its own observers")
  func b03_copiesKeepEverything() async throws {
    struct Dated: Codable, Sendable { let date: Date }
    let decode = Pipeline(DecodeJSON(Dated.self) { $0.dateDecodingStrategy = .secondsSince1970 }).named("dates")
    let more = decode.then { $0.date.timeIntervalSince1970 }
    #expect(more.name == "dates")
    let log = EventRecorder<String>()
    let (first, second) = (
      more.operation(for: Data(#"{"date": 7}"#.utf8)), more.operation(for: Data(#"{"date": 8}"#.utf8))
    )
    for (name, operation) in [("first", first), ("second", second)] {
      operation.addObserver { if let outcome = $0.outcome { log.record("\(name) \(outcome)") } }
    }
    _ = try await first.run()
    _ = try await second.run()
    #expect(log.events == ["first success(7.0)", "second success(8.0)"])
  }

  @Test("BkTask 4 A pipeline without steps succeeds with its input")
  func b04_noStepsAreASuccess() async throws {
    let operation = Pipeline(of: String.self).operation(for: "as it is")
    await onWorker { operation.start() }
    #expect(await settled(operation).value == "as it is")
    #expect(try await Pipeline(of: Void.self).run() == ())
  }

  @Test("BkTask 5 Only the last observer that leaves cancels, only a run that is set to that, and none that has ended")
  func b05_leavingCancelsOnlyWhatIsSetToThat() async {
    let held = HeldStep()
    let pipeline = Pipeline(held)

    let indifferent = pipeline.operation(for: 1)
    indifferent.start()
    indifferent.addObserver { _ in }.remove()
    #expect(!indifferent.isCancelled)

    let unwatched = pipeline.operation(for: 1)
    unwatched.cancelsWhenLastObserverLeaves = true
    unwatched.start()
    let other = indifferent.addObserver { _ in }
    other.remove()
    other.remove()
    #expect(!unwatched.isCancelled)

    let ended = pipeline.operation(for: 1)
    ended.cancelsWhenLastObserverLeaves = true
    let token = ended.addObserver { _ in }
    ended.start()
    for number in 1...3 { await held.started(number).finish(with: 3) }
    _ = await settled(ended)
    token.remove()
    #expect(!ended.isCancelled && ended.outcome?.value == 3)
  }

  @Test("BkTask 6 A step that finishes twice counts once")
  func b06_finishingTwiceCountsOnce() async throws {
    let runs = Locked(0)
    let pipeline = Pipeline(of: Int.self).then { number in
      SimpleOperation<Int> { operation in
        #expect(operation.finish(with: number))
        #expect(!operation.finish(with: -1) && !operation.reject(with: TestError.first))
        operation.willChangeValue(forKey: "isFinished")
        operation.didChangeValue(forKey: "isFinished")
      }
    }.then { number -> Int in
      runs.increment()
      return number
    }
    #expect(try await pipeline.run(7) == 7 && runs.current == 1)
  }

  @Test("BkTask 9 The main thread may wait for a pipeline whose observers are called elsewhere")
  func b09_mainThreadMayWait() async {
    let told = EventRecorder<String>()
    let operation = Pipeline(Add(1)).then(Add(1)).operation(for: 1)
    operation.addObserver {
      if let outcome = $0.outcome { told.record("\(outcome)") }
    }
    await MainActor.run { waitHere(for: operation) }
    #expect(operation.outcome?.value == 3)
    await told.wait(for: "success(3)")
  }

  @MainActor private func waitHere(for operation: SimpleOperation<Int>) {
    operation.start()
    operation.waitUntilFinished()
  }
}
