import CompositeOperations
import TestSupport
import Testing

@testable import ManagedOperations

/// A `switch` that names all values and has a `default` is one without a warning, so these would not build if they were
/// enumerations, where a new value breaks every client's `switch`.
@Suite("Codes, kinds and categories that may grow", .timeLimit(.minutes(30))) struct GrowingValuesTests {
  @Test func managedTaskErrorCodes_areSwitchedOverWithADefault() {
    let all: [ManagedTaskError.Code] = [
      .timedOut, .discarded, .interceptionFailed, .interceptionTimedOut,
      .reactionFailed, .reactionTimedOut, .operationAlreadyFinished, .managerReleased, .shutDown,
    ]
    func word(_ value: ManagedTaskError.Code) -> String {
      switch value {
      case .timedOut: "timedOut"
      case .discarded: "discarded"
      case .interceptionFailed: "interceptionFailed"
      case .interceptionTimedOut: "interceptionTimedOut"
      case .reactionFailed: "reactionFailed"
      case .reactionTimedOut: "reactionTimedOut"
      case .operationAlreadyFinished: "operationAlreadyFinished"
      case .managerReleased: "managerReleased"
      case .shutDown: "shutDown"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
    #expect(ManagedTaskError.Code.allCases == all)
  }

  @Test func managedEventKinds_areSwitchedOverWithADefault() {
    let all: [ManagedEvent.Kind] = [
      .added, .started, .held, .released, .queued, .attemptStarted, .attemptEnded,
      .reacting, .joinedReaction, .requeued, .finished,
    ]
    func word(_ value: ManagedEvent.Kind) -> String {
      switch value {
      case .added: "added"
      case .started: "started"
      case .held: "held"
      case .released: "released"
      case .queued: "queued"
      case .attemptStarted: "attemptStarted"
      case .attemptEnded: "attemptEnded"
      case .reacting: "reacting"
      case .joinedReaction: "joinedReaction"
      case .requeued: "requeued"
      case .finished: "finished"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func logCategories_areSwitchedOverWithADefault() {
    let all: [LogMessage.Category] = [.tasks, .interception, .execution, .reaction]
    func word(_ value: LogMessage.Category) -> String {
      switch value {
      case .tasks: "tasks"
      case .interception: "interception"
      case .execution: "execution"
      case .reaction: "reaction"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
    #expect(LogMessage.Category.allCases == all)
    #expect(all.map { LogMessage.Category(rawValue: $0.rawValue) } == all && LogMessage.Category(rawValue: "x") == nil)
  }

  @Test func managedEvents_carryWhatTheirKindHas() {
    let contents: [ManagedEvent.Content] = [
      .added, .started, .held(by: "A"), .released(by: "B"), .queued, .attemptStarted, .attemptEnded(.success(1)),
      .reacting(by: "C", key: "k"), .joinedReaction(of: "D", key: nil), .requeued(after: .seconds(2)),
      .finished(.cancelled),
    ]
    let events = contents.map {
      ManagedEvent(content: $0, taskIdentifier: 1, taskDescription: "T", attempt: 1)
    }
    #expect(
      events.map(\.kind) == [
        .added, .started, .held, .released, .queued, .attemptStarted, .attemptEnded, .reacting, .joinedReaction,
        .requeued, .finished,
      ])
    #expect(events.map(\.participant) == [nil, nil, "A", "B", nil, nil, nil, "C", "D", nil, nil])
    #expect(events.compactMap(\.reactionKey) == ["k"] && events[7].reactionKey == "k")
    #expect(events.compactMap(\.delay) == [.seconds(2)] && events[9].delay == .seconds(2))
    #expect(events.compactMap { $0.outcome.map { "\($0)" } } == ["success(1)", "cancelled"])
    #expect(events[6].outcome?.value as? Int == 1 && events[10].outcome?.isCancelled == true)
  }
}
