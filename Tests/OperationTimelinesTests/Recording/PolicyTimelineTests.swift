import CompositeOperationsTestKit
import Foundation
import OperationTimelines
import TestSupport
import Testing

@testable import CompositeOperations

/// Policies in timelines: what they are, what they wait for, and nothing of what they are made of.
@Suite("Timelines of policies", .hangLimit)
struct PolicyTimelineTests {
  /// `parent/title (kind)`, of all entries in order.
  private func rows(_ timeline: Timeline) -> [String] {
    timeline.entries.map { entry in
      let parent = entry.parent.map { number in timeline.entries.first { $0.id == number }!.kind.rawValue + "/" } ?? ""
      return "\(parent)\(entry.title) (\(entry.kind.rawValue))"
    }
  }

  private func expectNoInternals(_ timeline: Timeline) {
    for text in [timeline.html(), timeline.chromeTrace(), timeline.textTree(), timeline.mermaid()] {
      for type in ["ComposedOperation", "ConditionEvaluation", "ReservationGate", "DependencyGate"] {
        #expect(!text.contains(type), "\(type)")
      }
    }
  }

  @Test func conditionAndExclusion_areRecordedAsThese() async throws {
    let recorder = TimelineRecorder()
    let work = succeeding(1, named: "work").condition(Condition("sunny") { _ in true }).exclusive("z")
    recorder.attach(to: work)
    _ = try await work.run()
    let timeline = recorder.timeline
    #expect(
      rows(timeline) == [
        "work (exclusive)", "exclusive/evaluates “sunny” (wait)", "exclusive/work (condition)",
        "condition/work (operation)",
      ])
    #expect(timeline.textTree().contains("✓ work (exclusive)"))
    #expect(timeline.textTree().contains("├─ ✓ evaluates “sunny”"))
    #expect(timeline.peakConcurrency == 1)
    expectNoInternals(timeline)
  }

  @Test func waiting_saysForWhat() async throws {
    let registry = ExclusionRegistry()
    let (holder, before) = (HeldOperation<Int>("holder"), HeldOperation<Int>("dep"))
    let holding = holder.exclusive("door", in: registry)
    await onWorker { holding.start() }
    await holder.started.wait()
    let work = succeeding(1, named: "work")
    work.addDependency(before)
    let waiting = work.exclusive("door", in: registry)
    let recorder = TimelineRecorder()
    recorder.attach(to: waiting)
    await onWorker { waiting.start() }
    await until(recorder.timeline.entries.count >= 2)
    #expect(rows(recorder.timeline) == ["work (exclusive)", "exclusive/waits for “dep” (wait)"])
    before.start()
    before.finish(with: 1)
    #expect(await Patience.reached { registry.waitingCount == 1 })
    await until(recorder.timeline.entries.count >= 3)
    #expect(rows(recorder.timeline).last == "exclusive/waits for “door” (wait)")
    holder.finish(with: 1)
    await finished(waiting)
    #expect(
      rows(recorder.timeline) == [
        "work (exclusive)", "exclusive/waits for “dep” (wait)", "exclusive/waits for “door” (wait)",
        "exclusive/work (operation)",
      ])
    expectNoInternals(recorder.timeline)
  }

  @Test func prerequisites_standInOneRow() async throws {
    struct SignedIn: OperationCondition {
      var name: String { "signed in" }
      func prerequisite(for context: ConditionContext) -> Operation? { failing(TestError.first, named: "log in") }
      func evaluate(_ context: ConditionContext) async throws {}
    }
    let recorder = TimelineRecorder()
    let work = succeeding(1, named: "work").condition(SignedIn())
    recorder.attach(to: work)
    _ = try await work.run()
    #expect(
      rows(recorder.timeline) == [
        "work (condition)", "condition/prerequisites (prerequisites)", "prerequisites/log in (operation)",
        "condition/evaluates “signed in” (wait)", "condition/work (operation)",
      ])
    expectNoInternals(recorder.timeline)
  }

  @Test func delays_countAsWaits() async throws {
    let clock = ManualClock()
    let recorder = TimelineRecorder()
    let retried = retrying(RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1)), jitter: .none), clock: clock) {
      attempt -> SimpleOperation<Int> in
      attempt.number == 1 ? failing(TestError.first, named: "fetch") : succeeding(1, named: "fetch")
    }
    recorder.attach(to: retried)
    retried.start()
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    await finished(retried)
    #expect(
      rows(recorder.timeline) == [
        "fetch (retry)", "retry/fetch (operation)", "retry/DelayOperation (wait)", "retry/fetch (operation)",
      ])
    expectNoInternals(recorder.timeline)
  }

  @Test func firstAttempt_cancelledBeforeItBegins_isNumberOne() async {
    let recorder = TimelineRecorder()
    let retried = succeeding(1, named: "fetch").retrying { _ in succeeding(2) }
    recorder.attach(to: retried)
    retried.cancel()
    retried.start()
    await finished(retried)
    #expect(recorder.timeline.entries.map(\.attempt) == [1, 1])
  }
}
