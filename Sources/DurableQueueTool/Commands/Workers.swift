import CompositeOperationsCommandLine
import DurableOperations
import Foundation

extension DurableQueueCommand {
  /// The processes that run jobs.
  func workers(of queue: DurableQueue, _ request: Request) throws {
    let workers = try queue.workers()
    if request.isJSON {
      try output(JSONText.array(workers.map(json)).text + "\n")
    } else if workers.isEmpty {
      try output("No process runs jobs.\n")
    } else {
      try output(fitted(table(of: workers)))
    }
  }

  private func table(of workers: [JobWorker]) -> Table {
    var table = Table(sides: [.left, .right, .left, .left, .right], indentation: "")
    table.add("host", "process", "state", "lease", "jobs", "")
    for worker in workers {
      table.add(
        Wording.plain(worker.hostName ?? "-") + (worker.isOnThisMachine ? ", here" : ""), "\(worker.processID)",
        worker.liveness.rawValue, lease(of: worker), "\(worker.jobs.count)", kinds(of: worker))
    }
    return table
  }

  /// Such as “ends in 25 s” and “over 3 min ago”.
  private func lease(of worker: JobWorker) -> String {
    let seconds = Int(clamping: worker.leaseLeft.components.seconds)
    return seconds >= 0 ? "ends in \(Wording.span(seconds))" : "over \(Wording.span(-seconds)) ago"
  }

  /// Such as “resize #4, send-mail #2 #3”.
  private func kinds(of worker: JobWorker) -> String {
    // By their bytes, as the databases compare names.
    let kinds = Dictionary(grouping: worker.runningJobs) { Array($0.kind.utf8) }
    return kinds.values.sorted { $0[0].kind < $1[0].kind }.map { jobs in
      ([Wording.plain(jobs[0].kind)] + jobs.map(\.id.description)).joined(separator: " ")
    }.joined(separator: ", ")
  }

  private func json(_ worker: JobWorker) -> JSONText {
    [
      "id": .integer(worker.id), "host": worker.hostName.map(JSONText.string) ?? .null,
      "process": .integer(worker.processID), "onThisMachine": .bool(worker.isOnThisMachine),
      "liveness": .string(worker.liveness.rawValue), "leaseEnd": .string(Wording.timestamp(of: worker.leaseEnd)),
      "leaseLeft": .integer(worker.leaseLeft.components.seconds),
      "jobs": .array(
        worker.runningJobs.map { job in
          [
            "id": job.id.json, "kind": .string(job.kind),
            "startedAt": job.startedAt.map { .string(Wording.timestamp(of: $0)) } ?? .null,
          ]
        }),
    ]
  }
}
