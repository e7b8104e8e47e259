import Foundation
import Testing

@testable import DurableOperations

/// A `switch` that names all values and has a `default` compiles without a warning. These tests
/// would not build if the types were enums, where a new value breaks every client's `switch`.
@Suite("Codes and kinds that may grow", .timeLimit(.minutes(30))) struct GrowingValuesTests {
  @Test func jobErrorCodes_areSwitchedOverWithADefault() {
    let all: [JobError.Code] = [
      .notEncodable, .payloadTooLarge, .duplicate, .unknownPrerequisite, .cycle,
      .circularPrerequisite, .unknownJob, .wrongState, .timedOut, .operationCancelled, .operationUsedBefore,
      .undecodable, .newerVersion, .leaseLost, .attemptEnded, .tooManyCrashes, .unknownKind, .prerequisiteFailed,
      .unreadablePeriodicJob, .insideTransaction,
    ]
    func word(_ value: JobError.Code) -> String {
      switch value {
      case .notEncodable: "notEncodable"
      case .payloadTooLarge: "payloadTooLarge"
      case .duplicate: "duplicate"
      case .unknownPrerequisite: "unknownPrerequisite"
      case .cycle: "cycle"
      case .circularPrerequisite: "circularPrerequisite"
      case .unknownJob: "unknownJob"
      case .wrongState: "wrongState"
      case .timedOut: "timedOut"
      case .operationCancelled: "operationCancelled"
      case .operationUsedBefore: "operationUsedBefore"
      case .undecodable: "undecodable"
      case .newerVersion: "newerVersion"
      case .leaseLost: "leaseLost"
      case .attemptEnded: "attemptEnded"
      case .tooManyCrashes: "tooManyCrashes"
      case .unknownKind: "unknownKind"
      case .prerequisiteFailed: "prerequisiteFailed"
      case .unreadablePeriodicJob: "unreadablePeriodicJob"
      case .insideTransaction: "insideTransaction"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func databaseErrorCodes_areSwitchedOverWithADefault() {
    let all: [DatabaseError.Code] = [
      .busy, .diskFull, .readOnly, .cannotOpen, .notADatabase, .notAQueue, .corrupt, .fileLost,
      .newerSchema, .sqliteTooOld, .inputOutput, .constraint, .statement, .transactionEnded, .settingOfTheQueue,
    ]
    func word(_ value: DatabaseError.Code) -> String {
      switch value {
      case .busy: "busy"
      case .diskFull: "diskFull"
      case .readOnly: "readOnly"
      case .cannotOpen: "cannotOpen"
      case .notADatabase: "notADatabase"
      case .notAQueue: "notAQueue"
      case .corrupt: "corrupt"
      case .newerSchema: "newerSchema"
      case .sqliteTooOld: "sqliteTooOld"
      case .fileLost: "fileLost"
      case .inputOutput: "inputOutput"
      case .constraint: "constraint"
      case .statement: "statement"
      case .transactionEnded: "transactionEnded"
      case .settingOfTheQueue: "settingOfTheQueue"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func cronErrorCodes_areSwitchedOverWithADefault() {
    let all: [CronError.Code] = [
      .wrongNumberOfFields, .unknownShorthand, .notAValue, .outOfRange, .reversedRange,
      .badStep, .emptyEntry,
    ]
    func word(_ value: CronError.Code) -> String {
      switch value {
      case .wrongNumberOfFields: "wrongNumberOfFields"
      case .unknownShorthand: "unknownShorthand"
      case .notAValue: "notAValue"
      case .outOfRange: "outOfRange"
      case .reversedRange: "reversedRange"
      case .badStep: "badStep"
      case .emptyEntry: "emptyEntry"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func jobEventKinds_areSwitchedOverWithADefault() {
    let all: [JobEvent.Kind] = [
      .enqueued, .started, .progress, .done, .failed, .snoozed, .dead, .held, .cancelled,
      .returned, .rescued, .leaseLost, .unknownKind, .databaseFailed, .unwritten,
    ]
    func word(_ value: JobEvent.Kind) -> String {
      switch value {
      case .enqueued: "enqueued"
      case .started: "started"
      case .progress: "progress"
      case .done: "done"
      case .failed: "failed"
      case .snoozed: "snoozed"
      case .dead: "dead"
      case .held: "held"
      case .cancelled: "cancelled"
      case .returned: "returned"
      case .rescued: "rescued"
      case .leaseLost: "leaseLost"
      case .unknownKind: "unknownKind"
      case .databaseFailed: "databaseFailed"
      case .unwritten: "unwritten"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func jobErrors_carryWhatTheirCodeHas() {
    let id = JobID(rawValue: 7)
    let errors = [
      .notEncodable, .payloadTooLarge(size: 9, limit: 8), .duplicate(id), .unknownPrerequisite(id), .cycle([1, 0, 1]),
      .circularPrerequisite(id), .unknownJob, .wrongState(.done), .timedOut(.seconds(3)), .operationCancelled,
      .operationUsedBefore, .undecodable, .newerVersion(stored: 3, known: 2), .leaseLost, .attemptEnded,
      .tooManyCrashes(4), .unknownKind, .prerequisiteFailed(id), .unreadablePeriodicJob(name: "n"), .insideTransaction,
    ].map { (reason: JobError.Reason) in JobError(reason, kind: "k") }
    #expect(
      errors.map(\.code) == [
        .notEncodable, .payloadTooLarge, .duplicate, .unknownPrerequisite, .cycle, .circularPrerequisite, .unknownJob,
        .wrongState, .timedOut, .operationCancelled, .operationUsedBefore, .undecodable, .newerVersion, .leaseLost,
        .attemptEnded, .tooManyCrashes, .unknownKind, .prerequisiteFailed, .unreadablePeriodicJob, .insideTransaction,
      ])
    let withOther: Set<JobError.Code> = [.duplicate, .unknownPrerequisite, .circularPrerequisite, .prerequisiteFailed]
    for error in errors {
      let code = error.code
      #expect(error.otherJob == (withOther.contains(code) ? id : nil))
      #expect(error.state == (code == .wrongState ? .done : nil))
      #expect(error.periodicJobName == (code == .unreadablePeriodicJob ? "n" : nil))
    }
  }

  @Test func jobEvents_carryWhatTheirKindHas() {
    struct Failure: Error, CustomStringConvertible {
      var description: String { "no" }
    }
    let (id, other) = (JobID(rawValue: 7), JobID(rawValue: 8))
    let date = Date(timeIntervalSince1970: 0)
    let events = [
      .enqueued(id, kind: "k"), .started(id, kind: "k", attempt: 2), .progress(id, fraction: 0.5), .done(id, kind: "k"),
      .failed(id, kind: "k", attempt: 2, error: Failure(), nextAttempt: date), .snoozed(id, kind: "k", until: date),
      .dead(id, kind: "k", error: Failure()), .held(id, kind: "k", error: Failure()), .cancelled(id, kind: "k"),
      .returned(id, kind: "k"), .rescued([id, other]), .leaseLost(id, kind: "k"), .unknownKind("k"),
      .databaseFailed(DatabaseError(.busy, message: "m", path: "p")),
      .unwritten([id, other], error: DatabaseError(.busy, message: "m", path: "p")),
    ].map { (content: JobEvent.Content) in JobEvent(content) }
    #expect(
      events.map(\.kind) == [
        .enqueued, .started, .progress, .done, .failed, .snoozed, .dead, .held, .cancelled, .returned, .rescued,
        .leaseLost, .unknownKind, .databaseFailed, .unwritten,
      ])
    for event in events {
      let kind = event.kind
      #expect(event.jobID == ([.rescued, .unwritten, .unknownKind, .databaseFailed].contains(kind) ? nil : id))
      #expect(event.jobIDs == ([.rescued, .unwritten].contains(kind) ? [id, other] : event.jobID.map { [$0] } ?? []))
      #expect(event.jobKind == ([.progress, .rescued, .unwritten, .databaseFailed].contains(kind) ? nil : "k"))
      #expect(event.attempt == ([.started, .failed].contains(kind) ? 2 : nil))
      #expect(event.fractionCompleted == (kind == .progress ? 0.5 : nil))
      #expect((event.error is Failure) == [.failed, .dead, .held].contains(kind))
      #expect((event.error is DatabaseError) == [.databaseFailed, .unwritten].contains(kind))
      #expect(event.nextAttempt == ([.failed, .snoozed].contains(kind) ? date : nil))
    }
    #expect(events[1].description == "started: job #7 (k), attempt 2")
    #expect(events[4].description == "failed: job #7 (k), attempt 2, no, again at \(date)")
    #expect(events[10].description == "rescued: jobs #7, #8")
    #expect(events[14].description.hasPrefix("unwritten: 2 jobs run again, #7 #8, The database p is locked"))
    #expect(events[12].description == "unknownKind: k" && events[2].description == "progress: job #7, 0.5")
  }

  @Test func oldSnapshot_ofUnknownAge_isToldWithoutOne() {
    let ages: [Duration?] = [.seconds(2), nil]
    let texts = ages.map { JobEvent(.databaseSlow(JobEvent.OldSnapshot(age: $0, serverProcess: 3))).description }
    #expect(
      texts == [
        "databaseSlow: server process 3 holds a snapshot that is 2.0 seconds old",
        "databaseSlow: server process 3 holds an old snapshot",
      ])
  }
}
