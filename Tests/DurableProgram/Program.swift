import CompositeOperationsTestKit
import DurableOperations
import Foundation

/// What the jobs of the program do.
struct Work: Job {
  static let kind = "work"
  /// `run`; `hold`: goes on until it is released or cancelled; `deaf`: the same, but ignores its
  /// cancellation; `compute`: keeps a processor busy for minutes; `trap`; `fail`.
  var what: String
  /// Makes it large.
  var padding: String?
}

/// Prints a line at once, even if the process is killed right after.
func say(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(STDOUT_FILENO, bytes, bytes.count)
}

func code(of error: any Error) -> String {
  switch error {
  case let error as DatabaseError: "\(error.code)"
  case let error as JobError: "\(error.code)"
  default: "\(type(of: error))"
  }
}

/// A queue that does what it is told by lines of text.
final class Program: Sendable {
  private let options: ProgramOptions
  private let queue: DurableQueue
  private let log: AttemptLog
  private let released = Gate()

  init(_ options: ProgramOptions) throws {
    self.options = options
    log = AttemptLog(options)
    queue = try DurableQueue(location: options.location, configuration: options.configuration)
    try queue.register(Work.self) { [log, released] work, context in
      try await Self.perform(work, context, log, released)
    }
    let events = queue.events(bufferingPolicy: .unbounded)
    Task { [log] in for await event in events { Self.tell(event, log) } }
  }

  /// Ends in good order at SIGTERM. Returns when that is told of: one that came before would be
  /// lost.
  func stopsWhenTerminated() async -> any DispatchSourceSignal {
    let (registered, register) = AsyncStream.makeStream(of: Void.self)
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM)
    // So long that no busy machine needs it, unless it is told.
    let patience = Duration.milliseconds(options.number("patience") ?? 1_200_000)
    source.setEventHandler { [queue] in
      Task(priority: .high) {
        await queue.stop(grace: .zero, givingUpAfter: patience)
        exit(0)
      }
    }
    source.setRegistrationHandler { register.yield() }
    source.resume()
    for await _ in registered { break }
    return source
  }

  private static func perform(_ work: Work, _ context: JobContext, _ log: AttemptLog, _ released: Gate) async throws {
    log.note("S", context.id)
    switch work.what {
    case "trap": fatalError("a trap")
    case "fail": throw PermanentJobFailure(CancellationError())
    case "hold":
      say("holds \(context.id.rawValue)")
      do {
        try await released.waitUnlessCancelled()
      } catch {
        say("interrupted \(context.id.rawValue)")
        throw error
      }
    case "compute":
      say("holds \(context.id.rawValue)")
      // Where all processors are busy no command arrives. If nothing kills it, it ends then.
      let start = ContinuousClock.now
      while start.duration(to: .now) < .seconds(300) {}
    case "deaf":
      say("holds \(context.id.rawValue)")
      await released.wait()
    default: await Task.yield()
    }
    log.note("F", context.id)
  }

  private static func tell(_ event: JobEvent, _ log: AttemptLog) {
    switch event.kind {
    case .done, .cancelled, .returned, .leaseLost, .dead, .rescued:
      for id in event.jobIDs {
        if event.kind == .done { log.note("D", id) }
        say("\(event.kind) \(id.rawValue)")
      }
    case .databaseFailed: if let error = event.error as? DatabaseError { say("failed \(error.code)") }
    default: break
    }
  }

  /// Commands follow each other; those that wait for something are under way together.
  func perform(_ command: [String]) async {
    do {
      try await perform(command[0], Array(command.dropFirst()))
    } catch {
      say("error \(code(of: error)) \(error)")
    }
  }

  private func perform(_ name: String, _ arguments: [String]) async throws {
    switch name {
    case "start":
      queue.start()
      say("started")
    case "stop":
      let grace = Duration.milliseconds(Int(arguments[0]) ?? 0)
      Task { [queue] in
        await queue.stop(grace: grace)
        say("stopped")
      }
    case "exit": exit(0)
    case "enqueue":
      let padding = arguments.count > 2 ? Int(arguments[2]).map { String(repeating: "x", count: $0) } : nil
      let jobs = Array(repeating: Work(what: arguments[1], padding: padding), count: Int(arguments[0]) ?? 1)
      for id in try await queue.enqueue(contentsOf: jobs) { say("enqueued \(id.rawValue)") }
    case "churn":
      let count = Int(arguments[0]) ?? 1
      Task { [self] in
        await churn(count)
        say("churned")
      }
    case "settle":
      Task { [self] in
        try? await settle()
        say("settled")
      }
    case "release": released.open()
    case "count":
      if let state = JobState(name: arguments[0]) { say("counted \(try await queue.counts()[state])") }
    case "fill": await fill()
    case "stuff": stuff(arguments[0])
    case "remove": unlink(arguments[0])
    case "suspend": await queue.suspend()
    case "unsuspend": queue.resume()
    case "delete": try await queue.delete(JobID(rawValue: Int64(arguments[0]) ?? 0))
    case "hold": try await queue.hold(JobID(rawValue: Int64(arguments[0]) ?? 0))
    case "cancel": try await queue.cancel(JobID(rawValue: Int64(arguments[0]) ?? 0))
    case "pause": try await queue.pause(kind: Work.kind)
    case "resume": try await queue.resume(kind: Work.kind)
    case "schedule":
      try await queue.schedule(
        Work(what: "run"), named: "often", .interval(.milliseconds(Int(arguments[0]) ?? 1000)), catchUp: .all)
    case "latest":
      try await queue.schedule(
        Work(what: "run latest"), named: "latest", .interval(.milliseconds(Int(arguments[0]) ?? 1000)), catchUp: .latest
      )
    case "unschedule": try await queue.unschedule(named: "often")
    case "limit": limitFileSize(arguments[0] == "none" ? nil : rlim_t(arguments[0]))
    default: say("unknown command \(name)")
    }
    if [
      "suspend", "unsuspend", "delete", "hold", "cancel", "pause", "resume", "schedule", "latest", "unschedule",
      "limit", "stuff", "remove",
    ].contains(name) {
      say("did \(name)")
    }
  }

  /// Stores jobs in all ways at once, and notes those that are stored for sure.
  private func churn(_ count: Int) async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask { [self] in
          do {
            for id in try await store(number) { log.note("E", id) }
          } catch {
            say("error \(code(of: error)) \(error)")
          }
        }
      }
    }
  }

  private func store(_ number: Int) async throws -> [JobID] {
    let job = Work(what: "run")
    switch number % 8 {
    case 0: return try await queue.enqueue(contentsOf: Array(repeating: job, count: 10))
    case 1: return [try await queue.transaction { db in try db.enqueue(job) }]
    case 2: return [try storeAtOnce(job, JobOptions(start: .after(.milliseconds(number % 50))))]
    case 3: return [try storeAtOnce(job, JobOptions(priority: .userInitiated))]
    case 4:
      return try await queue.enqueue(contentsOf: [
        JobRequest(job), JobRequest(job, options: JobOptions(dependsOn: [.inSameCall(0)])),
      ])
    default: return [try await queue.enqueue(job)]
    }
  }

  private func storeAtOnce(_ job: Work, _ options: JobOptions) throws -> JobID {
    try queue.enqueue(job, options: options)
  }

  /// Waits until jobs can no longer run.
  private func settle() async throws {
    while true {
      try await queue.waitUntilIdle()
      let counts = try await queue.counts()
      if counts[.waiting] + counts[.scheduled] + counts[.blocked] + counts[.executing] == 0 { return }
      await Task.yield()
    }
  }

  /// Stores jobs until there is no room on the disk.
  private func fill() async {
    let job = Work(what: String(repeating: "x", count: 1000))
    do {
      while true { try await queue.enqueue(job) }
    } catch {
      say("filled \(code(of: error))")
    }
  }

  /// Takes the last room of the disk by a file.
  private func stuff(_ path: String) {
    let file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    for count in [4096, 1] {
      let bytes = [UInt8](repeating: 1, count: count)
      while write(file, bytes, count) == count {}
    }
    close(file)
  }

  private func limitFileSize(_ size: rlim_t?) {
    var limit = rlimit()
    #if canImport(Darwin)
    let resource = RLIMIT_FSIZE
    #else
    let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #endif
    getrlimit(resource, &limit)
    limit.rlim_cur = size ?? limit.rlim_max
    if setrlimit(resource, &limit) != 0 { say("error setrlimit") }
  }
}
