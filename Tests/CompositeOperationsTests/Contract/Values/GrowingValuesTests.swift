import CompositeOperations
import TestSupport
import Testing

/// A `switch` over all values with a `default` compiles without a warning only for structs: with an
/// enum these tests would not build, and a new value would break every client's `switch`.
@Suite("10 Codes and kinds that may grow") struct GrowingValuesTests {
  @Test func operationErrorCodes_areSwitchedOverWithADefault() {
    let all: [OperationError.Code] = [
      .duplicateChild, .alreadyInUse, .alreadyFinished, .missingOutcome, .missingBody, .noOperations, .dependencyCircle,
    ]
    func word(_ value: OperationError.Code) -> String {
      switch value {
      case .duplicateChild: "duplicateChild"
      case .alreadyInUse: "alreadyInUse"
      case .alreadyFinished: "alreadyFinished"
      case .missingOutcome: "missingOutcome"
      case .missingBody: "missingBody"
      case .noOperations: "noOperations"
      case .dependencyCircle: "dependencyCircle"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func exclusionErrorCodes_areSwitchedOverWithADefault() {
    let all: [ExclusionError.Code] = [.deadlock]
    func word(_ value: ExclusionError.Code) -> String {
      switch value {
      case .deadlock: "deadlock"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func operationEventKinds_areSwitchedOverWithADefault() {
    let all: [OperationEvent.Kind] = [.started, .cancelled, .progress, .childAdded, .settled]
    func word(_ value: OperationEvent.Kind) -> String {
      switch value {
      case .started: "started"
      case .cancelled: "cancelled"
      case .progress: "progress"
      case .childAdded: "childAdded"
      case .settled: "settled"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func operationEvents_carryWhatTheirKindHas() {
    let child = succeeding(1, named: "child")
    let events: [OperationEvent] = [.started, .cancelled, .progress(0.5), .childAdded(child), .settled(.success(7))]
    #expect(events.map(\.kind) == [.started, .cancelled, .progress, .childAdded, .settled])
    #expect(events.map(\.fractionCompleted) == [nil, nil, 0.5, nil, nil])
    #expect(events.map { $0.child === child } == [false, false, false, true, false])
    #expect(events.map { $0.outcome?.value as? Int } == [nil, nil, nil, nil, 7])
    #expect(events.count { $0.child != nil } == 1 && events.count { $0.outcome != nil } == 1)
    #expect(
      events.map(\.description)
        == [
          "started", "cancelled", "progress: 0.5", "child added: “child” (\(type(of: child)))", "settled: success(7)",
        ])
  }

  @Test func operationEvent_isNoLargerThanWhatItCarriesAndTheCountOfTheDropped() {
    #expect(
      MemoryLayout<OperationEvent>.stride == MemoryLayout<Outcome<any Sendable>>.stride + MemoryLayout<Int>.stride)
    #expect(MemoryLayout<OperationEvent.Kind>.size == 1)
  }
}
