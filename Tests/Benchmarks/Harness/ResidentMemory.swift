import Foundation

#if canImport(Darwin)
// `mach_task_self_` is a C variable that never changes after launch.
@preconcurrency import Darwin
#endif

/// The resident memory of this process.
enum ResidentMemory {
  /// The bytes resident now.
  static func current() throws -> Int {
    #if canImport(Darwin)
    Int(try taskInfo().resident_size)
    #else
    // The second field is the resident set, in pages.
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else {
      throw BenchmarkError("/proc/self/statm has no resident set")
    }
    return pages * sysconf(Int32(_SC_PAGESIZE))
    #endif
  }

  /// The most bytes that were resident at any time.
  static func peak() throws -> Int {
    #if canImport(Darwin)
    Int(try taskInfo().resident_size_max)
    #else
    // Not `getrusage`: its maximum is inherited from the process that started this one.
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    let fields = line?.split(whereSeparator: \.isWhitespace) ?? []
    guard fields.count > 1, let kibibytes = Int(fields[1]) else {
      throw BenchmarkError("/proc/self/status has no VmHWM")
    }
    return kibibytes * 1_024
    #endif
  }

  #if canImport(Darwin)
  private static func taskInfo() throws -> mach_task_basic_info {
    var info = mach_task_basic_info()
    var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
    let result = withUnsafeMutablePointer(to: &info) { pointer in
      pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
        task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
      }
    }
    guard result == KERN_SUCCESS else { throw BenchmarkError("task_info answered \(result)") }
    return info
  }
  #endif
}
