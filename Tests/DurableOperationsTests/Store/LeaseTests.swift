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

  private func loss(
    _ liveness: ProcessIdentity.Liveness, now: Int64? = 110, age: Int64, connected: Int64?
  ) -> WorkerLoss? {
    WorkerRow(id: 1, identity: .current, lease: 90, leaseUntil: 100)
      .loss(liveness, at: now, unchangedFor: .milliseconds(age), connectedFor: connected.map { .milliseconds($0) })
  }

  @Test func deadProcess_isLostAtOnce() {
    for connected in [nil, 0, 1000] as [Int64?] {
      #expect(loss(.dead, now: 0, age: 0, connected: connected) == .ofDeadProcess)
    }
  }

  @Test func unknownProcess_ofAFile_isLostWhenItsLeaseIsOver() {
    #expect(loss(.unknown, age: 0, connected: nil) == .lapsed)
    #expect(loss(.unknown, now: 99, age: 0, connected: nil) == nil)
    #expect(loss(.alive, age: 29, connected: nil) == nil)
    #expect(loss(.alive, age: 30, connected: nil) == .stoodStill)
  }

  @Test("By a server's clock, which may be set ahead, a lease is over when it was seen to stay as it is, too")
  func process_ofAServer_isLostWhenItsLeaseIsOver_andWasSeenToBe() {
    for (liveness, lost) in [(.unknown, .lapsed), (.alive, .stoodStill)] as [(ProcessIdentity.Liveness, WorkerLoss)] {
      #expect(loss(liveness, age: 29, connected: 1000) == nil)
      #expect(loss(liveness, age: 30, connected: 1000) == lost)
      #expect(loss(liveness, now: 90, age: 89, connected: 1000) == nil)
      #expect(loss(liveness, now: 90, age: 90, connected: 1000) == lost)
    }
  }

  @Test("A process that has just come back to a server does not judge those that may be about to")
  func process_ofAServer_isNotLostToOneThatWasAway() {
    for liveness in [.unknown, .alive] as [ProcessIdentity.Liveness] {
      #expect(loss(liveness, now: 9999, age: 9999, connected: 29) == nil)
      #expect(loss(liveness, now: 9999, age: 9999, connected: 30) != nil)
    }
  }
}
