import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Tee, MapElements and Transform", .timeLimit(.minutes(30)))
struct OtherStepTests {
  @Test func tee_doesSomething_andLetsTheValuePass() async throws {
    let log = EventRecorder<Int>()
    let side = Pipeline(Add(100)).then(Tee { log.record($0) })
    let pipeline = Pipeline(Add(1)).then(Tee { log.record($0) }).then(
      Tee { number in
        await Task.yield()
        log.record(10 * number)
      }
    ).then(Tee(side)).then(Add(1))
    #expect(try await pipeline.run(1) == 3)
    #expect(log.events == [2, 20, 102])
  }

  @Test func tee_thatFails_failsThePipeline() async throws {
    let pipeline = Pipeline(Add(1)).then(Tee { _ in throw TestError.first })
    let error = try await outcome(of: pipeline, for: 1).stepError
    #expect(error?.stepName == "Tee" && error?.cause as? TestError == .first)
    let side = Pipeline(of: Int.self).then { _ in failing(TestError.second) }.named("side")
    let other = try await outcome(of: Pipeline(Tee(side)), for: 1).stepError
    #expect(other?.cause as? TestError == .second && "\(other!)".contains(" of the pipeline “side” failed: "))
  }

  @Test func mapElements_keepsTheOrder_andTheBound() async throws {
    let gauge = ConcurrencyGauge()
    let pipeline = Pipeline(of: [Int].self).then(
      MapElements(maxConcurrent: 3) { number in
        gauge.enter()
        defer { gauge.leave() }
        for _ in 0..<number % 5 { await Task.yield() }
        return "\(number)"
      })
    #expect(try await pipeline.run(Array(0..<100)) == (0..<100).map { "\($0)" })
    #expect(gauge.maximum <= 3 && gauge.total == 100)
  }

  @Test func mapElements_ofNone_isEmpty() async throws {
    #expect(try await MapElements(maxConcurrent: 1, Add(1)).run([]) == [])
  }

  @Test func mapElements_withClosuresAndSteps() async throws {
    #expect(try await MapElements(maxConcurrent: 2) { (number: Int) in number + 1 }.run([1, 2]) == [2, 3])
    #expect(try await Pipeline(of: [Int].self).then(MapElements(maxConcurrent: 2, Add(1).then(Add(1)))).run([1]) == [3])
  }

  @Test func mapElements_whoseElementFails_makesNoFurtherOnes() async throws {
    let count = Locked(0)
    let step = MapElements(maxConcurrent: 1) { (number: Int) -> Int in
      count.increment()
      if number == 2 { throw TestError.first }
      return number
    }
    let error = try await outcome(of: Pipeline(step), for: Array(0..<100)).stepError
    #expect(error?.stepName == "MapElements" && error?.cause as? TestError == .first)
    #expect(count.current == 3)
  }

  @Test func mapElements_cancelled_cancelsWhatRuns() async {
    let held = HeldStep()
    let operation = Pipeline(MapElements(maxConcurrent: 2, held)).operation(for: [1, 2, 3, 4])
    operation.start()
    let (first, second) = (await held.started(1), await held.started(2))
    operation.cancel()
    #expect(first.isCancelled && second.isCancelled)
    #expect(await settled(operation).isCancelled && held.count == 2)
  }

  @Test func mapElements_tellsItsProgress() async {
    let held = HeldStep()
    let operation = Pipeline(MapElements(maxConcurrent: 1, held)).operation(for: [1, 2, 3, 4])
    #expect(operation.fractionCompleted == 0)
    operation.start()
    await held.started(1).finish(with: 1)
    let second = await held.started(2)
    #expect(operation.fractionCompleted == 0.25)
    operation.cancel()
    _ = await settled(operation)
    _ = second
  }

  @Test func asyncTransform_isCancelledWithThePipeline() async {
    let (started, gate) = (Gate(), Gate())
    let operation = Pipeline(of: Int.self).then { number -> Int in
      started.open()
      try await gate.waitUnlessCancelled()
      return number
    }.operation(for: 1)
    operation.start()
    await started.wait()
    operation.cancel()
    #expect(await settled(operation).isCancelled)
  }
}
