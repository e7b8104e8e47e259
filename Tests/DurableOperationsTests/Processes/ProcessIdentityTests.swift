import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite("Whether a process is there", .timeLimit(.minutes(30)))
struct ProcessIdentityTests {
  private let own = ProcessIdentity.current

  @Test("This process knows all of itself, and is alive")
  func ownProcess_isAlive() {
    #expect(own.processID == Int64(ProcessInfo.processInfo.processIdentifier))
    #expect(!own.bootID.isEmpty && !own.hostName.isEmpty && own.startTime > 0)
    #if os(Linux)
    #expect(own.bootID.count == 36)
    #expect(own.pidNamespace?.hasPrefix("pid:[") == true)
    #else
    #expect(own.pidNamespace == "")
    #endif
    #expect(own.liveness() == .alive)
    #expect(ProcessIdentity.readCurrent() == own)
  }

  #if os(macOS) || os(Linux)
  @Test("Another process is alive while it runs, and dead after it was killed and its status was fetched")
  func child_isAlive_thenDead() async throws {
    let child = try Child()
    let identity = try child.identity()
    #expect(identity.liveness() == .alive)
    child.kill()
    child.reap()
    #expect(identity.liveness() == .dead)
  }

  @Test("A killed process is dead before its parent has read its status")
  func zombie_isDead() async throws {
    let child = try Child()
    let identity = try child.identity()
    child.kill()
    child.waitUntilEnded()
    #expect(ProcessStatus.of(identity.processID) == .ended)
    #expect(identity.liveness() == .dead)
    child.reap()
  }
  #endif

  @Test("An id that another process has by now belongs to a dead one")
  func otherStartTime_isDead() {
    var earlier = own
    earlier.startTime -= 1
    #expect(earlier.liveness() == .dead)
  }

  @Test("An id that no process has belongs to a dead one")
  func unusedID_isDead() {
    var gone = own
    // More than there can be on Linux and Apple platforms.
    gone.processID = 999_999_999
    #expect(gone.liveness() == .dead)
    gone.processID = Int64(Int32.max) + 1
    #expect(gone.liveness() == .dead)
  }

  @Test("A process of another boot, namespace or host is of unknown liveness")
  func strangers_areUnknown() {
    for isGone in [false, true] {
      var process = own
      if isGone { process.startTime -= 1 }
      let changes: [(inout ProcessIdentity) -> Void] = [
        { $0.bootID = "00000000-0000-0000-0000-000000000000" }, { $0.pidNamespace = "pid:[1]" },
        { $0.hostName += "-other" },
      ]
      for change in changes {
        var stranger = process
        change(&stranger)
        #expect(stranger.liveness() == .unknown)
        #expect(process.liveness(seenFrom: stranger) == .unknown)
      }
    }
  }

  @Test("What could not be read is not taken for the same")
  func incomplete_isUnknown() {
    let changes: [(inout ProcessIdentity) -> Void] = [
      { $0.bootID = "" }, { $0.pidNamespace = nil }, { $0.hostName = "" }, { $0.startTime = 0 },
      { $0.processID = 0 }, { $0.processID = -1 },
    ]
    for change in changes {
      var process = own
      change(&process)
      // As if the observer could not read it either.
      var observer = own
      change(&observer)
      #expect(process.liveness(seenFrom: observer) == .unknown)
    }
  }

  @Test("Another user's process is alive or unknown, but never dead")
  func firstProcess_isNotDead() {
    var first = own
    first.processID = 1
    switch ProcessStatus.of(1) {
    case .running(let startTime):
      first.startTime = startTime
      #expect(first.liveness() == .alive)
    case .unreadable:
      #expect(first.liveness() == .unknown)
    case .absent, .ended:
      Issue.record("There is always a first process")
    }
  }
}
