import CommandLineSupport
import DurableOperations
import Foundation

extension DurableQueueCommand {
  /// Changes jobs, as many of them as it can. Returns the exit status.
  func perform(_ change: Change, on queue: DurableQueue, _ request: Request) throws -> Int32 {
    switch change {
    case .retry(let ids): return try each(ids, "retry", "will run again", request) { try queue.retry($0) }
    case .hold(let ids): return try each(ids, "hold", "held", request) { try queue.hold($0) }
    case .delete(let ids): return try each(ids, "delete", "deleted", request) { try queue.delete($0) }
    case .cancel(let ids):
      return try each(ids, "cancel", "cancelled", request) { id in
        try queue.cancel(id)
        return try queue.job(id)?.state == .executing ? "asked to end" : nil
      }
    case .priority(let ids, let priority):
      return try each(ids, "priority", "has the priority \(priority.text) now", request) {
        try queue.setPriority(priority, of: $0)
      }
    case .retryAll(let state, let kind):
      try tell("retry", try queue.retryAll(state, kind: kind), "will run again", kind, queue, request)
    case .drain(let kind): try tell("drain", try queue.drain(kind: kind), "deleted", kind, queue, request)
    case .pause(let kinds): try each(kinds, "pause", "paused", of: queue, request) { try queue.pause(kind: $0) }
    case .resume(let kinds): try each(kinds, "resume", "resumed", of: queue, request) { try queue.resume(kind: $0) }
    }
    return ExitStatus.good
  }

  private func each(
    _ ids: [JobID], _ command: String, _ remark: String, _ request: Request, _ body: (JobID) throws -> Void
  ) throws -> Int32 {
    try each(ids, command, remark, request) { id -> String? in
      try body(id)
      return nil
    }
  }

  /// What is wrong with one job keeps no other from being changed.
  private func each(
    _ ids: [JobID], _ command: String, _ remark: String, _ request: Request, _ body: (JobID) throws -> String?
  ) throws -> Int32 {
    var changed: [JSONText] = []
    var failures: [JSONText] = []
    for id in ids {
      do {
        let special = try body(id)
        changed.append(.integer(id.rawValue))
        if !request.isJSON { try output("\(id)  \(special ?? remark)\n") }
      } catch let error as JobError {
        failures.append(["id": .integer(id.rawValue), "error": .string("\(error)")])
        complain("\(error)")
      }
    }
    if request.isJSON {
      let result: JSONText = [
        "command": .string(command), "count": JSONText(changed.count), "jobs": .array(changed),
        "failures": .array(failures),
      ]
      try output(result.text + "\n")
    }
    return failures.isEmpty ? ExitStatus.good : ExitStatus.failed
  }

  private func tell(
    _ command: String, _ count: Int, _ remark: String, _ kind: String?, _ queue: DurableQueue, _ request: Request
  ) throws {
    if request.isJSON {
      let result: JSONText = ["command": .string(command), "count": JSONText(count), "jobs": .null, "failures": []]
      try output(result.text + "\n")
    } else {
      try output("\(Wording.count(count, "job"))  \(remark)\n")
    }
    if count == 0 { try hint(kind, in: queue) }
  }

  private func each(
    _ kinds: [String], _ command: String, _ remark: String, of queue: DurableQueue, _ request: Request,
    _ body: (String) throws -> Void
  ) throws {
    for kind in kinds {
      // Before it is changed, for a paused kind is known. It is no mistake to pause a kind before its jobs come.
      try hint(kind, in: queue)
      try body(kind)
      if !request.isJSON { try output("\(Wording.plain(kind))  \(remark)\n") }
    }
    guard request.isJSON else { return }
    let result: JSONText = [
      "command": .string(command), "count": JSONText(kinds.count), "kinds": .array(kinds.map { .string($0) }),
    ]
    try output(result.text + "\n")
  }
}
