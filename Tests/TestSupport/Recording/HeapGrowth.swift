#if os(Linux)
import Foundation

/// What a process keeps of the memory that it allocates, over the work that it does.
///
/// Resident memory says little about it: the allocator keeps pages that it may need again, more of
/// them with each thread, so that a leak of some bytes a request is lost in that. This counts the
/// bytes that were allocated and not freed. It is to be sampled when nothing is under way, since
/// that is not kept.
public struct HeapGrowth: Sendable {
  private var samples: [(work: Int, bytes: Int)] = []

  /// Makes one without samples.
  public init() {}

  /// Notes what is allocated now, after so many pieces of work. Does nothing where the C library
  /// does not tell.
  public mutating func sample(after work: Int) {
    if let bytes = Self.bytesInUse { samples.append((work, bytes)) }
  }

  /// What was allocated, in KiB.
  public var course: [Int] { samples.map { $0.bytes >> 10 } }

  /// How many bytes each piece of work left behind. Nil as long as there are too few samples.
  ///
  /// It is the median of what any two samples say that are at least a third of all apart, so that a
  /// few which were taken while something was under way do not matter. The first third is left out:
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
