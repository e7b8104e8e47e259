import DurableOperations
import Foundation
import Testing

/// Each `switch` names all values and has a `default`. For an enum that would be a warning, so
/// these tests build only as long as a further value breaks no program.
@Suite("Options that may grow", .timeLimit(.minutes(30))) struct GrowingOptionsTests {
  @Test func stringOptions_switchedOverWithADefault_haveTheirStoredNames() {
    func word(_ value: JobCatchUp) -> String {
      switch value {
      case .latest: "latest"
      case .all: "all"
      default: "another"
      }
    }
    func word(_ value: UniqueKey.Conflict) -> String {
      switch value {
      case .reject: "reject"
      case .replace: "replace"
      default: "another"
      }
    }
    func word(_ value: JobWorker.Liveness) -> String {
      switch value {
      case .alive: "alive"
      case .dead: "dead"
      case .unknown: "unknown"
      default: "another"
      }
    }
    for value in JobCatchUp.allCases {
      #expect(word(value) == value.rawValue && JobCatchUp(rawValue: value.rawValue) == value)
    }
    for value in [UniqueKey.Conflict.reject, .replace] {
      #expect(word(value) == value.rawValue && UniqueKey.Conflict(rawValue: value.rawValue) == value)
    }
    for value in [JobWorker.Liveness.alive, .dead, .unknown] {
      #expect(word(value) == value.rawValue && JobWorker.Liveness(rawValue: value.rawValue) == value)
    }
    #expect(JobCatchUp(rawValue: "none") == nil && UniqueKey.Conflict(rawValue: "none") == nil)
    #expect(JobWorker.Liveness(rawValue: "none") == nil)
  }

  @Test func prerequisiteFailures_switchedOverWithADefault_haveTheirStoredNumbers() {
    func number(_ value: PrerequisiteFailure) -> Int {
      switch value {
      case .wait: 0
      case .cancel: 1
      case .die: 2
      case .run: 3
      default: -1
      }
    }
    for value in [PrerequisiteFailure.wait, .cancel, .die, .run] {
      #expect(number(value) == value.rawValue && PrerequisiteFailure(rawValue: value.rawValue) == value)
    }
    #expect(PrerequisiteFailure(rawValue: 4) == nil)
  }

  @Test func queueOptions_areEqualOnlyToThemselves() {
    typealias Queue = DurableQueue
    #expect(Queue.Durability.full != .normal && Queue.FileAccess.owner != .group)
    #expect(Queue.WhenDisconnected.goOn != .cancelAfterLease)
    let protections: Set<Queue.FileProtection> = [.unprotected, .untilFirstUnlock, .unlessOpen, .complete]
    #expect(protections.count == 4)
    let kinds: Set<Queue.UnknownKinds> = [.leave, .dead(after: .seconds(1)), .dead(after: .seconds(2))]
    #expect(kinds.count == 3)
    let retentions: Set<Queue.Retention> = [.none, .keep(.seconds(1)), .keep(.seconds(2)), .forever]
    #expect(retentions.count == 4)
    #if os(macOS) || os(Linux)
    #expect(PostgresOptions.Pooler.none != .transaction)
    let listens: Set<PostgresOptions.Listens> = [.yes, .no, .at("a"), .at("b")]
    #expect(listens.count == 4)
    #endif
  }

  /// As version 0.1.0 encoded them, when they were enums.
  @Test func encodedOptions_areSingleValues() throws {
    func text(_ value: some Encodable) throws -> String {
      String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
    #expect(try text(JobCatchUp.allCases) == #"["latest","all"]"#)
    #expect(try text([UniqueKey.Conflict.reject, .replace]) == #"["reject","replace"]"#)
    #expect(try text([PrerequisiteFailure.wait, .cancel, .die, .run]) == "[0,1,2,3]")
    let decoder = JSONDecoder()
    #expect(try decoder.decode([JobCatchUp].self, from: Data(#"["all"]"#.utf8)) == [.all])
    #expect(try decoder.decode([PrerequisiteFailure].self, from: Data("[2]".utf8)) == [.die])
    #expect(throws: DecodingError.self) { try decoder.decode([PrerequisiteFailure].self, from: Data("[4]".utf8)) }
    #expect(throws: DecodingError.self) { try decoder.decode([JobCatchUp].self, from: Data(#"["none"]"#.utf8)) }
  }
}
