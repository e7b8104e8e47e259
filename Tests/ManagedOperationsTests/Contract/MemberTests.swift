import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

@testable import ManagedOperations

/// Interceptors and reactors by their short names.
@Suite("6 Interceptors and reactors after a dot", .timeLimit(.minutes(30))) struct MemberTests {
  @Test func members_doWhatTheirTypesDo() async throws {
    let seen = EventRecorder<String>()
    let manager = OperationManager(
      interceptors: [
        .intercepting { task, _ in
          seen.record("\(type(of: task))")
          return .execute
        },
        .intercepting(Number.self) { number, _ in
          number.number += 1
          return .execute
        },
        .batch(maxCount: 2) { $0 is Number },
        .rateLimit(tokens: 100, per: .seconds(1)),
        .headers(["Accept": "text/plain"]),
      ],
      reactors: [
        .reacting(to: Number.self, when: { outcome, _ in outcome.value == 3 }) { _ in .fail(TestError.second) },
        .reacting(when: { outcome, _ in outcome.error as? TestError == .first }) { _ in .requeue() },
        .retrying(RetryPolicy(maxAttempts: 1)),
        .refreshingToken { _ in },
      ], clock: ManualClock())
    let numbers = [1, 2].map { manager.add(Number($0)) }
    #expect(await settled(numbers[0]).value == 2)
    #expect(await settled(numbers[1]).error as? TestError == .second)
    #expect(try await manager.run(Scripted { $0 == 1 ? failing(TestError.first) : succeeding($0) }) == 2)
    #expect(seen.events == ["Number", "Number", "Scripted<Int>"])
    #expect(
      manager.core.interceptors.map(\.name) == [
        ".intercepting", ".intercepting(Number.self)", ".batch", ".rateLimit", ".headers",
      ])
    #expect(
      manager.core.reactors.map(\.name) == [
        ".reacting(to: Number.self)", ".reacting", ".retrying", ".refreshingToken",
      ])
  }
}
