#if os(Linux)
import Foundation

/// The growth of a process's allocated memory with its work.
///
/// Resident memory tells little about it: the allocator keeps free pages, more with each thread,
/// which hides a leak of some bytes per request. This counts the bytes that were allocated and not
/// freed. Sample it while no work is running.
public struct HeapGrowth: Sendable {
  private var samples: [(work: Int, bytes: Int)] = []

  /// Makes one without samples.
  public init() {}

  /// Records the allocated bytes after this many pieces of work. Does nothing if the C library does
  /// not report them.
  public mutating func sample(after work: Int) {
    if let bytes = Self.bytesInUse { samples.append((work, bytes)) }
  }

  /// What was allocated, in KiB.
  public var course: [Int] { samples.map { $0.bytes >> 10 } }

  /// How many bytes each piece of work left behind. Nil as long as there are too few samples.
  ///
  /// This is the median over all pairs of samples that are at least a third of all apart, so that a
  /// few samples taken while work was running do not matter. The first third is excluded, because
  /// caches fill.
  public var bytesPerWork: Double? {
    let steady = samples.dropFirst(samples.count / 3).map { $0 }
    let distance = max(1, steady.count / 3)
    guard steady.count >= 6 else { return nil }
    var slopes: [Double] = []
    for (index, first) in steady.enumerated() {
      for last in steady.dropFirst(index + distance) where last.work > first.work {
        slopes.append(Double(last.bytes - first.bytes) / Double(last.work - first.work))
      }
    }
    return slopes.isEmpty ? nil : slopes.sorted()[slopes.count / 2]
  }

  /// From the report that glibc writes, whose sums come last: what it has from the system, without
  /// what is free. Neither that function nor the shorter ones are declared in Swift; other C
  /// libraries have none.
  private static var bytesInUse: Int? {
    typealias Report = @convention(c) (CInt, UnsafeMutableRawPointer) -> CInt
    guard let function = dlsym(nil, "malloc_info") else { return nil }
    var (text, count): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
    guard let file = open_memstream(&text, &count) else { return nil }
    defer { free(text) }
    let result = unsafeBitCast(function, to: Report.self)(0, UnsafeMutableRawPointer(file))
    fclose(file)
    guard result == 0, let text else { return nil }
    var sizes: [String: Int] = [:]
    for line in String(cString: text).split(separator: "\n") {
      let parts = line.split(separator: "\"")
      // `<total type="rest" count="1" size="30896"/>`, and `<system type="current" size="540672"/>`
      guard line.hasPrefix("<total ") || line.hasPrefix("<system "), parts.count > 3 else { continue }
      sizes[String(parts[1])] = Int(parts[parts.count - 2])
    }
    guard let all = sizes["current"], let fast = sizes["fast"], let rest = sizes["rest"], let mapped = sizes["mmap"]
    else { return nil }
    return all - fast - rest + mapped
  }
}
#endif
