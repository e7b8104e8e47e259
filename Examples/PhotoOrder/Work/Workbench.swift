import ExampleSupport
import Foundation

/// What the tasks that work have in common: how far they are, where they stop, and which of them
/// fail.
final class Workbench: Sendable {
  let holds = Holds()
  private let failures: FailurePlan
  private let progress = Shared<[String: Double]>([:])
  private let attempts = Shared<[String: Int]>([:])

  init(failures: FailurePlan) {
    self.failures = failures
  }

  /// An attempt of a task begins. Returns how far it gets before it fails; nil if it does not.
  func begin(_ task: String) -> Double? {
    let attempt = attempts.withLock { attempts in
      attempts[task, default: 0] += 1
      return attempts[task]!
    }
    report(0, of: task)
    return failures.failure(of: task, attempt: attempt)
  }

  /// How far the latest attempt of a task is, from 0 to 1.
  func progress(of task: String) -> Double {
    progress.withLock { $0[task] ?? 0 }
  }

  func report(_ fraction: Double, of task: String) {
    progress.withLock { $0[task] = min(1, max(0, fraction)) }
  }
}
