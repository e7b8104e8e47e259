import CompositeOperations
import TestSupport
import Testing

@testable import ManagedOperations

/// A `switch` that names all values and has a `default` is one without a warning, so these would
/// not build if they were enumerations, where a new value breaks every client's `switch`.
@Suite("Codes and kinds that may grow", .timeLimit(.minutes(30))) struct GrowingValuesTests {
  @Test func managedTaskErrorCodes_areSwitchedOverWithADefault() {
    let all: [ManagedTaskError.Code] = [
      .timedOut, .discarded, .interceptionFailed, .interceptionTimedOut,
      .reactionFailed, .reactionTimedOut, .operationAlreadyFinished, .managerReleased, .stopped,
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
      case .stopped: "stopped"
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
      .reacting, .joinedReaction, .requeued, .finished, .dropped,
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
      case .dropped: "dropped"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func managedEvents_carryWhatTheirKindHas() {
    let contents: [ManagedEvent.Content] = [
      .added, .started, .held(interceptor: 0), .released(interceptor: 1), .queued, .attemptStarted,
      .attemptEnded(.success(1)),
      .reacting(reactor: 0, key: "k"), .joinedReaction(reactor: 1, key: nil), .requeued(after: .seconds(2)),
      .finished(.cancelled), .dropped,
    ]
    let events = contents.map {
      ManagedEvent(content: $0, taskID: 1, taskDescription: "T", attempt: 1, participant: nil)
    }
    #expect(
      events.map(\.kind) == [
        .added, .started, .held, .released, .queued, .attemptStarted, .attemptEnded, .reacting, .joinedReaction,
        .requeued, .finished, .dropped,
      ])
    #expect(events.compactMap(\.reactionKey) == ["k"] && events[7].reactionKey == "k")
    #expect(events.compactMap(\.delay) == [.seconds(2)] && events[9].delay == .seconds(2))
    #expect(events.compactMap { $0.outcome.map { "\($0)" } } == ["success(1)", "cancelled"])
    #expect(events[6].outcome?.value as? Int == 1 && events[10].outcome?.isCancelled == true)
  }
}
