import CompositeOperations
import Foundation

/// Work on files in small steps, between which it can be stopped and cancelled.
protocol FileJob: Sendable {
  associatedtype Result: Sendable

  /// How far it is, from 0 to 1.
  var progress: Double { get }

  /// Does the next step. Returns the result after the last one.
  mutating func step() throws -> Result?

  /// Removes what is half done.
  mutating func discard()
}

/// One attempt of a task: does a job step by step.
final class FileWork<Job: FileJob>: SimpleOperation<Job.Result>, @unchecked Sendable {  // see `job`
  private let task: String
  private let bench: Workbench
  /// How far it gets before it fails.
  private let breakdown: Double?
  // Touched by one thread at a time: the one that starts the operation, or that goes on with it
  // after a hold.
  private var job: Job

  init(_ task: String, at bench: Workbench, _ job: Job) {
    self.task = task
    self.bench = bench
    self.job = job
    breakdown = bench.begin(task)
    super.init()
    name = task
  }

  override func main() {
    goOn()
  }

  override func didCancel() {
    // If it has stopped it shall go on, to where it sees that it was cancelled.
    bench.holds.wake(task)
  }

  private func goOn() {
    do {
      while true {
        if isCancelled { throw CancellationError() }
        if let breakdown, job.progress >= breakdown { throw MadeUpFailure(progress: breakdown) }
        let stops = bench.holds.stops(task, at: job.progress) { [self] in
          DispatchQueue.global().async { self.goOn() }
        }
        if stops {
          // `didCancel` may have come too early to find it.
          if isCancelled { bench.holds.wake(task) }
          return
        }
        let result = try job.step()
        // That of an attempt which was cancelled is of no interest, and might be that of a later
        // one.
        if !isCancelled { bench.report(job.progress, of: task) }
        guard let result else { continue }
        if let breakdown { throw MadeUpFailure(progress: breakdown) }
        finish(with: result)
        return
      }
    } catch {
      job.discard()
      reject(with: error)
    }
  }
}
