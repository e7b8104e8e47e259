import Foundation

// This file has everything in which platforms differ about processes.

extension ProcessIdentity {
  static func readCurrent() -> ProcessIdentity {
    let processID = Int64(getpid())
    let startTime: Int64 = if case .running(let time) = ProcessStatus.of(processID) { time } else { 0 }
    return ProcessIdentity(
      bootID: bootID(), pidNamespace: pidNamespace(), hostName: hostName(), processID: processID, startTime: startTime)
  }

  /// The value for a host without a name.
  static let namelessHost = "-"

  /// Empty on Darwin: there the name changes with the network, and the start of a machine has a
  /// number of its own.
  private static func hostName() -> String {
    #if canImport(Darwin)
    namelessHost
    #else
    var name = [CChar](repeating: 0, count: 256)
    // The last byte stays zero, which the system does not promise for a name that is too long.
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #endif
  }
}

extension ProcessStatus {
  /// The answer to signal 0: whether the id is taken. Used where nothing else can be read.
  private static func bySignal(_ processID: pid_t) -> ProcessStatus {
    kill(processID, 0) != 0 && errno == ESRCH ? .absent : .unreadable
  }
}

#if canImport(Darwin)

extension ProcessIdentity {
  private static func bootID() -> String {
    var size = 0
    guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 0 else { return "" }
    var text = [UInt8](repeating: 0, count: size)
    guard sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0) == 0 else { return "" }
    return String(decoding: text.prefix(size).prefix { $0 != 0 }, as: UTF8.self)
  }

  private static func pidNamespace() -> String? { "" }
}

extension ProcessStatus {
  static func of(_ processID: Int64) -> ProcessStatus {
    guard let processID = pid_t(exactly: processID), processID > 0 else { return .absent }
    var name = [CTL_KERN, KERN_PROC, KERN_PROC_PID, processID]
    var info = kinfo_proc()
    var size = MemoryLayout<kinfo_proc>.stride
    guard sysctl(&name, u_int(name.count), &info, &size, nil, 0) == 0 else { return bySignal(processID) }
    guard size >= MemoryLayout<kinfo_proc>.stride, info.kp_proc.p_pid == processID else { return bySignal(processID) }
    if Int32(info.kp_proc.p_stat) == SZOMB { return .ended }
    let start = info.kp_proc.p_un.__p_starttime
    return .running(startTime: Int64(start.tv_sec) * 1_000_000 + Int64(start.tv_usec))
  }
}

#else

extension ProcessIdentity {
  private static func bootID() -> String {
    let bytes = try? ProcessStatus.contents(of: "/proc/sys/kernel/random/boot_id").get()
    return String(decoding: bytes ?? [], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func pidNamespace() -> String? {
    guard let processes = ProcessStatus.destination(of: "/proc/self/ns/pid") else { return nil }
    // Start times count from another moment in each time namespace. Older systems have none.
    return ProcessStatus.destination(of: "/proc/self/ns/time").map { "\(processes) \($0)" } ?? processes
  }
}

extension ProcessStatus {
  struct ReadError: Error {
    let code: Int32
  }

  /// Whether `/proc` shows the processes of our namespace, which it need not in a container.
  private static let procIsOurs = destination(of: "/proc/self") == "\(getpid())"

  static func of(_ processID: Int64) -> ProcessStatus {
    guard let processID = pid_t(exactly: processID), processID > 0 else { return .absent }
    guard procIsOurs else { return bySignal(processID) }
    switch contents(of: "/proc/\(processID)/stat") {
    case .success(let bytes):
      guard let stat = ProcessStat(line: bytes), stat.processID == processID else {
        return bySignal(processID)
      }
      return stat.hasEnded ? .ended : .running(startTime: stat.startTime)
    case .failure:
      // The processes of other users may be hidden (hidepid), which looks as if they did not exist.
      // A signal tells.
      return bySignal(processID)
    }
  }

  /// Reads a file of `/proc`, whose size is not known in advance.
  fileprivate static func contents(of path: String) -> Result<[UInt8], ReadError> {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return .failure(ReadError(code: errno)) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    var count = 0
    while count < bytes.count {
      let result = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress! + count, $0.count - count) }
      if result < 0 {
        if errno == EINTR { continue }
        return .failure(ReadError(code: errno))
      }
      if result == 0 { break }
      count += result
    }
    return .success(Array(bytes.prefix(count)))
  }

  fileprivate static func destination(of link: String) -> String? {
    var text = [CChar](repeating: 0, count: 256)
    let count = readlink(link, &text, text.count)
    guard count > 0, count < text.count else { return nil }
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

#endif
