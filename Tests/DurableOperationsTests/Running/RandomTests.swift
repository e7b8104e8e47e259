import CompositeOperations
import CompositeOperationsTestKit
import DurableOperations
import Foundation
import TestSupport
import Testing

/// Random jobs, failures, cancels, pauses and prerequisites; the end of each job matches a simple
/// model.
@Suite(.timeLimit(.minutes(30))) struct RandomTests {
  private enum Plan: Int, CaseIterable { case succeed, failOnce, failAlways, failForGood, snooze, fail2Hold }

  @Test(arguments: Engine.available, 0..<Scale.count(12, least: 4))
  func randomJobs_endAsTheModelSays(on engine: Engine, _ seed: Int) async throws {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    var configuration = DurableQueue.Configuration()
    configuration.maxConcurrentOperationCount = Int.random(in: 1...6, using: &random)
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    let snoozed = Locked<Set<Int>>([]), runs = Locked<[Int: Int]>([:])
    try await queue.register(Count.self, maxConcurrent: Bool.random(using: &random) ? 2 : nil) {
      job, context async throws in
      runs.withLock { $0[job.number, default: 0] += 1 }
      switch Plan(rawValue: job.number % Plan.allCases.count)! {
      case .succeed: break
      case .failOnce: if context.attempt == 1 { throw TestFailure() }
      case .failAlways, .fail2Hold: throw TestFailure()
      case .failForGood: throw PermanentJobFailure(TestFailure())
      case .snooze: if snoozed.withLock({ $0.insert(job.number).inserted }) { throw JobSnooze(for: .zero) }
      }
    }
    if Bool.random(using: &random) { queue.start() }
    var jobs: [(id: JobID, plan: Plan, state: JobState, attempts: Int)] = []
    for _ in 0..<60 {
      let plan = Plan.allCases.randomElement(using: &random)!
      let number = plan.rawValue + jobs.count * Plan.allCases.count
      var options = JobOptions(
        priority: JobPriority(minor: Int.random(in: 0...2, using: &random)),
        maxAttempts: Int.random(in: 2...4, using: &random), backoff: .noDelay)
      options.holdsAfterLastAttempt = plan == .fail2Hold
      var state: JobState =
        switch plan {
        case .succeed, .failOnce, .snooze: .done
        case .failAlways, .failForGood: .dead
        case .fail2Hold: .held
        }
      var attempts =
        switch plan {
        case .succeed, .snooze, .failForGood: 1
        case .failOnce: 2
        case .failAlways, .fail2Hold: options.maxAttempts!
        }
      if !jobs.isEmpty, Int.random(in: 0..<3, using: &random) == 0 {
        let prerequisite = jobs.randomElement(using: &random)!
        options.dependsOn = [prerequisite.id]
        options.whenPrerequisiteFails = [.wait, .cancel, .die, .run].randomElement(using: &random)!
        let hasFailed = prerequisite.state == .dead || prerequisite.state == .cancelled
        if prerequisite.state != .done, options.whenPrerequisiteFails != .run || !hasFailed {
          attempts = 0
          state =
            switch options.whenPrerequisiteFails {
            case .cancel where hasFailed: .cancelled
            case .die where hasFailed: .dead
            default: .blocked
            }
        }
      }
      let isHeld = attempts > 0 && Int.random(in: 0..<8, using: &random) == 0
      if isHeld {
        options.startsHeld = true
        (state, attempts) = (.held, 0)
      }
      let id = try await queue.enqueue(Count(number: number), options: options)
      if isHeld, Bool.random(using: &random) {
        try await queue.cancel(id)
        state = .cancelled
      }
      jobs.append((id, plan, state, attempts))
      if Int.random(in: 0..<10, using: &random) == 0 {
        try await queue.pause(kind: "count")
        try await queue.resume(kind: "count")
      }
      if Int.random(in: 0..<15, using: &random) == 0 { await queue.stop() }
      if Int.random(in: 0..<10, using: &random) == 0 { queue.start() }
    }
    queue.start()
    try await queue.waitUntilIdle()
    for job in jobs {
      let record = try await #require(try queue.job(job.id))
      #expect(record.state == job.state, "seed \(seed), job \(job)")
      #expect(record.attempts == job.attempts, "seed \(seed), job \(job)")
    }
    #expect(try await queue.counts().total == 60)
    await queue.stop()
  }
}
