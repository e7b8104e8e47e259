import CompositeOperations
import TestSupport
import Testing

@testable import WorkflowOperations

/// A `switch` that names all values and has a `default` is one without a warning, so these would
/// not build if they were enumerations, where a new value breaks every client's `switch`.
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
    let record = WorkflowFailureRecord(failures: [], blocked: [])
    let contents: [WorkflowEvent.Content] = [
      WorkflowEvent.Content(kind: .workflowStarted), .runEnded(.finished), .runEnded(.failed(record)),
      .runEnded(.cancelled), .runEnded(nil), WorkflowEvent.Content(kind: .workflowReset),
      WorkflowEvent.Content(kind: .workflowRetried), WorkflowEvent.Content(kind: .started),
      WorkflowEvent.Content(kind: .finished, ending: .attempt(.success(5))),
      WorkflowEvent.Content(kind: .failed, ending: .attempt(.failure(TestError.first))),
      WorkflowEvent.Content(kind: .cancelled, ending: .attempt(.cancelled)), WorkflowEvent.Content(kind: .reset),
      WorkflowEvent.Content(kind: .retried),
      WorkflowEvent.Content(kind: .discarded, ending: .attempt(.success(7))),
    ]
    let events = contents.map { WorkflowEvent($0, in: workflow) }
    #expect(
      events.map(\.kind) == [
        .workflowStarted, .workflowFinished, .workflowFailed, .workflowCancelled, .workflowPaused, .workflowReset,
        .workflowRetried, .started, .finished, .failed, .cancelled, .reset, .retried, .discarded,
      ])
    for event in events {
      #expect((event.error is WorkflowError) == (event.kind == .workflowFailed))
      #expect((event.error as? TestError == .first) == (event.kind == .failed))
      #expect((event.outcome?.value as? Int == 7) == (event.kind == .discarded))
      #expect((event.error != nil) == [.workflowFailed, .failed].contains(event.kind))
      #expect((event.outcome?.value as? Int == 5) == (event.kind == .finished))
      #expect((event.outcome?.isCancelled == true) == [.workflowCancelled, .cancelled].contains(event.kind))
    }
  }
}
