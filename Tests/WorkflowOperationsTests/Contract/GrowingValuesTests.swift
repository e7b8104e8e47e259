import CompositeOperations
import TestSupport
import Testing

@testable import WorkflowOperations

/// A `switch` that names all values and has a `default` is one without a warning, so these would not build if they were
/// enumerations, where a new value breaks every client's `switch`.
@Suite("Codes and kinds that may grow", .timeLimit(.minutes(30))) struct GrowingValuesTests {
  @Test func workflowAttemptErrorCodes_areSwitchedOverWithADefault() {
    let all: [WorkflowAttemptError.Code] = [.operationAlreadyFinished]
    func word(_ value: WorkflowAttemptError.Code) -> String {
      switch value {
      case .operationAlreadyFinished: "operationAlreadyFinished"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func workflowSnapshotErrorCodes_areSwitchedOverWithADefault() {
    let all: [WorkflowSnapshotError.Code] = [.workflowIsRunning, .notEncodable, .notDecodable]
    func word(_ value: WorkflowSnapshotError.Code) -> String {
      switch value {
      case .workflowIsRunning: "workflowIsRunning"
      case .notEncodable: "notEncodable"
      case .notDecodable: "notDecodable"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func workflowEventKinds_areSwitchedOverWithADefault() {
    let all: [WorkflowEvent.Kind] = [
      .workflowStarted, .workflowFinished, .workflowFailed, .workflowCancelled,
      .workflowPaused, .workflowReset, .workflowRetried, .started, .finished, .failed, .cancelled, .reset, .retried,
      .discarded,
    ]
    func word(_ value: WorkflowEvent.Kind) -> String {
      switch value {
      case .workflowStarted: "workflowStarted"
      case .workflowFinished: "workflowFinished"
      case .workflowFailed: "workflowFailed"
      case .workflowCancelled: "workflowCancelled"
      case .workflowPaused: "workflowPaused"
      case .workflowReset: "workflowReset"
      case .workflowRetried: "workflowRetried"
      case .started: "started"
      case .finished: "finished"
      case .failed: "failed"
      case .cancelled: "cancelled"
      case .reset: "reset"
      case .retried: "retried"
      case .discarded: "discarded"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func workflowEvents_carryWhatTheirKindHas() {
    let workflow = Workflow()
    let failure = WorkflowError(workflow: workflow, record: WorkflowFailureRecord(failures: [], blocked: []))
    let contents: [WorkflowEvent.Content] = [
      .workflowStarted, .workflowFinished, .workflowFailed(failure), .workflowCancelled, .workflowPaused,
      .workflowReset,
      .workflowRetried, .started, .finished, .failed(TestError.first), .cancelled, .reset, .retried,
      .discarded(.success(7)),
    ]
    let events = contents.map { WorkflowEvent(content: $0, task: nil, attempt: 0) }
    #expect(
      events.map(\.kind) == [
        .workflowStarted, .workflowFinished, .workflowFailed, .workflowCancelled, .workflowPaused, .workflowReset,
        .workflowRetried, .started, .finished, .failed, .cancelled, .reset, .retried, .discarded,
      ])
    for event in events {
      #expect((event.error is WorkflowError) == (event.kind == .workflowFailed))
      #expect((event.error as? TestError == .first) == (event.kind == .failed))
      #expect((event.discardedOutcome?.value as? Int == 7) == (event.kind == .discarded))
      #expect((event.error != nil) == [.workflowFailed, .failed].contains(event.kind))
    }
  }
}
