import DurableOperations
import Foundation

/// What the program was started with: `name=value` each.
struct ProgramOptions {
  private let values: [String: String]

  init(_ arguments: some Sequence<String>) {
    var values: [String: String] = [:]
    for argument in arguments {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      if parts.count == 2 { values[parts[0]] = parts[1] }
    }
    self.values = values
  }

  /// A file, or `schema` of the server that `store` is the URL of.
  var location: DurableQueue.Location {
    #if os(macOS) || os(Linux)
    if let url = values["store"] {
      // So long that no busy machine needs it, unless it is told.
      let timeout = Duration.milliseconds(number("statement") ?? 1_200_000)
      return .postgres(url, PostgresOptions(schema: values["schema"] ?? "durable", statementTimeout: timeout))
    }
    #endif
    return .file(URL(fileURLWithPath: values["file"] ?? "jobs.sqlite"))
  }
  /// The file that attempts are noted in; nil for none.
  var log: String? { values["log"] }
  /// What this run is called there.
  var run: String { values["run"] ?? "0" }

  func number(_ name: String) -> Int? { values[name].flatMap { Int($0) } }

  var configuration: DurableQueue.Configuration {
    var configuration = DurableQueue.Configuration()
    configuration.durability = values["durability"] == "normal" ? .normal : .full
    configuration.maxConcurrentOperationCount = number("concurrent") ?? 4
    configuration.maxCrashes = number("crashes")
    configuration.leaseDuration = .milliseconds(number("lease") ?? 600_000)
    configuration.pollInterval = .milliseconds(number("poll") ?? 20)
    configuration.busyTimeout = .milliseconds(number("busy") ?? 60_000)
    configuration.retention = .forever
    // At once, on the queue's own thread: the program may end before its events are read.
    configuration.logHandler = { event in
      if event.kind == .abandoned { return say("abandoned \(event.jobIDs[0].rawValue)") }
      say((["logged", "\(event.kind)"] + event.jobIDs.map { "\($0.rawValue)" }).joined(separator: " "))
    }
    // Such as on another machine, or after another start of this one.
    if let host = values["host"] { configuration.processIdentity.hostName = host }
    if let boot = values["boot"] { configuration.processIdentity.bootID = boot }
    if let file = values["clock"] { configuration.clock = Self.clock(setBy: file) }
    return configuration
  }

  /// The date of all processes that are given the file: what it says in seconds is added to the
  /// machine's.
  private static func clock(setBy path: String) -> JobClock {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { fatalError("there is no \(path)") }
    return .system { date in
      var shift = 0.0
      // Written in one piece.
      _ = pread(file, &shift, MemoryLayout<Double>.size, 0)
      return date.addingTimeInterval(shift)
    }
  }

  /// Gives up the rights of the superuser, who may write everywhere.
  func dropRights() {
    guard let user = number("user") else { return }
    guard setgid(gid_t(user)) == 0, setuid(uid_t(user)) == 0 else { fatalError("can not become user \(user)") }
  }

  /// Has the process killed after a time, whatever it does then.
  func setDeath() {
    guard let time = number("death") else { return }
    DispatchQueue.global(qos: .userInteractive).asyncAfter(deadline: .now() + .microseconds(time)) {
      kill(getpid(), SIGKILL)
    }
  }
}
