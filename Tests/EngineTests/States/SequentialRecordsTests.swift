import TestSupport
import Testing

@testable import CompositeOperations

/// The recorded outcomes of the children of a sequence.
@Suite("3.3 SequentialRecords")
struct SequentialRecordsTests {
  private func records(_ outcomes: [Outcome<any Sendable>]) -> SequentialRecords {
    var records = SequentialRecords()
    for (index, outcome) in outcomes.enumerated() { records.append(outcome, index: index, name: "child \(index)") }
    return records
  }

  private func text(_ outcomes: [Outcome<any Sendable>]) -> [String] { outcomes.map(\.description) }

  @Test("None: no values, no failures, no last one")
  func new_isEmpty() {
    let records = SequentialRecords()
    #expect(records.values.isEmpty && records.failures.isEmpty && records.outcomes.isEmpty)
    #expect(records.last == .none)
  }

  /// All ways in which four children can end.
  @Test("Values and outcomes in order, failures with number and name, whatever came before")
  func append_anyEndings_keepsAll() {
    let endings: [Outcome<any Sendable>] = [.success(1), .failure(TestError.first), .cancelled]
    for code in 0..<81 {
      let outcomes = [code % 3, code / 3 % 3, code / 9 % 3, code / 27].map { endings[$0] }
      let records = records(outcomes)
      #expect(text(records.outcomes) == text(outcomes))
      #expect(records.values.count == outcomes.count { $0.value != nil })
      let failed = outcomes.indices.filter { outcomes[$0].error != nil }
      #expect(records.failures.map(\.index) == failed)
      #expect(records.failures.map(\.operationName) == failed.map { "child \($0)" })
      #expect("\(records.last)" == "\(outcomes[3])".prefix { $0 != "(" })
    }
  }

  @Test("A value alone counts like a success, before and after something else")
  func append_value_isSuccess() {
    var records = SequentialRecords()
    records.append(1)
    records.append(.cancelled, index: 1, name: nil)
    records.append("two")
    #expect(text(records.outcomes) == ["success(1)", "cancelled", "success(two)"])
    #expect(records.values.count == 2 && records.last == .success)
  }

  @Test("Released, it holds nothing")
  func release_afterSome_holdsNothing() {
    let released = Gate()
    var records = SequentialRecords()
    func fill() {
      let probe = ReleaseProbe(released)
      records.append([probe] as [any Sendable])
      records.append(.cancelled, index: 1, name: nil)
      records.append(probe)
    }
    fill()
    #expect(!released.isOpen)
    records.release()
    #expect(released.isOpen)
  }
}
