import Foundation
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct LeaseTests {
  @Test(
    "A lease is over by the date, by its own length, or a while later if its process is there",
    arguments: [
      (now: 90, age: 0, isAlive: false, false), (110, 0, false, true), (110, 0, true, false), (110, 29, true, false),
      (110, 30, true, true), (nil, 89, false, false), (nil, 90, false, true), (20, 90, true, true),
    ] as [(Int64?, Int64, Bool, Bool)])
  func leaseIsOver(now: Int64?, age: Int64, isAlive: Bool, isOver: Bool) {
    let worker = WorkerRow(id: 1, identity: .current, lease: 90, leaseUntil: 100)
    #expect(worker.hasRunOut(at: now, unchangedFor: .milliseconds(age), isAlive: isAlive) == isOver)
  }
}
