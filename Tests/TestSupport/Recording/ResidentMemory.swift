#if os(Linux)
import Foundation

/// How much memory processes have, over time.
public final class ResidentMemory: Sendable {
  private let samples = Locked<[[Int]]>([])

  /// Makes one without samples.
  public init() {}

  /// Notes what the processes have now, in bytes.
  public func sample(_ processIDs: [Int32]) {
    let bytes = processIDs.map(Self.bytes)
    samples.withLock { $0.append(bytes) }
  }

  /// The average of a process in the first and in the last third of the samples.
  public var growth: [(first: Int, last: Int)] {
    let samples = samples.current
    guard let count = samples.first?.count, samples.count >= 3 else { return [] }
    let third = samples.count / 3
    return (0..<count).map { process in
      func average(_ part: ArraySlice<[Int]>) -> Int { part.map { $0[process] }.reduce(0, +) / part.count }
      return (average(samples.prefix(third)[...]), average(samples.suffix(third)[...]))
    }
  }

  /// What a process had over time, in mebibytes: so many of the samples, as far apart as possible.
  public func course(of process: Int, steps: Int) -> [Int] {
    let samples = samples.current
    guard steps > 1, samples.count >= steps else { return samples.map { $0[process] >> 20 } }
    return (0..<steps).map { samples[$0 * (samples.count - 1) / (steps - 1)][process] >> 20 }
  }

  /// Nothing of a process that has ended.
  private static func bytes(of processID: Int32) -> Int {
    let text = (try? String(contentsOfFile: "/proc/\(processID)/statm", encoding: .utf8)) ?? ""
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
  }
}
#endif
