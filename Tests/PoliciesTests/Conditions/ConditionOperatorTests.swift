import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Conditions made of other conditions.
@Suite("8 Conditions: and, or, not, silent", .hangLimit)
struct ConditionOperatorTests {
  private let recorder = EventRecorder<String>()

  private struct Named: OperationCondition {
    let name: String
    let isMet: Bool
    let recorder: EventRecorder<String>

    func prerequisite(for context: ConditionContext) -> Operation? {
      succeeding(1, named: "before \(name)", recorder: recorder)
    }

    func evaluate(_ context: ConditionContext) throws {
      recorder.record(name)
      if !isMet { throw TestError(name) }
    }
  }

  private func met(_ name: String) -> Named { Named(name: name, isMet: true, recorder: recorder) }
  private func unmet(_ name: String) -> Named { Named(name: name, isMet: false, recorder: recorder) }

  /// The names of the conditions that do not hold; nil if the operation ran.
  private func failures(of condition: some OperationCondition) async -> [String]? {
    let outcome = await outcomeOfStarting(succeeding(1).condition(condition))
    return (outcome.error as? ConditionError)?.failures.map(\.conditionName)
  }

  @Test func conditionErrorOfAnotherOperation_isTheReason() async throws {
    let other = succeeding(1).condition(Condition("theirs") { _ in false })
    let mine = Condition("mine") { _ in
      _ = try await other.run()
      return true
    }
    let error = try #require(await outcomeOfStarting(succeeding(2).condition(mine)).error as? ConditionError)
    #expect(error.failures.map(\.conditionName) == ["mine"])
    #expect(error.failures.first?.error is ConditionError)
  }

  @Test func and_needsBoth_andTellsOfBoth() async {
    #expect(await failures(of: met("a") && met("b")) == nil)
    #expect(await failures(of: met("a") && unmet("b")) == ["b"])
    #expect(await failures(of: unmet("a") && met("b") && unmet("c") && unmet("d")) == ["a", "c", "d"])
  }

  @Test func or_needsOne_andStopsAtTheFirst() async {
    #expect(await failures(of: met("a").silent || met("b").silent) == nil)
    #expect(recorder.events == ["a"])
    #expect(await failures(of: unmet("c") || met("d")) == nil)
    #expect(await failures(of: unmet("e") || unmet("f") || unmet("g")) == ["e", "f", "g"])
  }

  @Test func not_needsTheOpposite() async throws {
    #expect(await failures(of: !unmet("a")) == nil)
    #expect(await failures(of: !met("b")) == ["!b"])
    #expect(await failures(of: !(met("c") && unmet("d"))) == nil)
    let error = await outcomeOfStarting(succeeding(1).condition(!met("e"))).error as? ConditionError
    #expect("\(try #require(error).failures[0].error)" == "e holds")
  }

  @Test func prerequisites_ofBothSides_runBefore() async {
    #expect(await failures(of: met("a") || met("b")) == nil)
    #expect(Set(recorder.events.prefix(2)) == ["before a", "before b"])
    #expect(recorder.events.dropFirst(2) == ["a"])
  }

  @Test func silentAndNegated_runNoPrerequisite() async {
    #expect(await failures(of: met("a").silent && !unmet("b") && (met("c") && met("d")).silent) == nil)
    #expect(Set(recorder.events) == ["a", "b", "c", "d"])
  }

  @Test func cancellation_isNeitherMetNorUnmet() async {
    let cancelling = Condition("cancels") { _ in throw CancellationError() }
    for condition in [!cancelling, cancelling || met("a"), unmet("b") || cancelling, met("c") && cancelling] {
      #expect(await outcomeOfStarting(succeeding(1).condition(condition)).isCancelled)
    }
    #expect(recorder.count(of: "a") == 0)
  }

  @Test func combinedCondition_passesItsPrerequisitesOn() async {
    /// A condition as users write it, around another one.
    struct Wrapping: OperationCondition {
      let base: Condition
      func prerequisite(for context: ConditionContext) -> Operation? { base.prerequisite(for: context) }
      func evaluate(_ context: ConditionContext) async throws { try await base.evaluate(context) }
    }
    #expect(await failures(of: Wrapping(base: met("a") && met("b"))) == nil)
    #expect(Set(recorder.events.prefix(2)) == ["before a", "before b"])
    #expect(await failures(of: Wrapping(base: met("c") && unmet("d"))) == ["d"])
    #expect(Wrapping(base: Condition(met("c"))).name == "Wrapping")
  }
}
