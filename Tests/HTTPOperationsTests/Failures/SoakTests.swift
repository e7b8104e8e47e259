#if os(Linux)
import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Hostile servers for minutes: `Tests/Scripts/soak` runs it.
///
/// It goes in rounds. Between two of them no request is under way, and what is allocated is what is
/// kept.
@Suite(.enabled(if: Soak.seconds > 0, "SOAK_SECONDS says for how long")) struct SoakTests {
  private static let rounds = 30
  /// Less than a leak that matters, and more than what Dispatch's threads keep for the next block.
  /// With what would hide it, glibc's caches of each thread and the backtraces that Swift Testing
  /// keeps of errors, it is told and not judged.
  private static let mostKept: Double = {
    let environment = ProcessInfo.processInfo.environment
    let isExact =
      environment["GLIBC_TUNABLES"]?.contains("glibc.malloc.tcache_count=0") == true
      && environment["SWT_SWIFT_ERROR_BACKTRACING_ENABLED"] == "0"
    return isExact ? 25 : .infinity
  }()

  @Test func hostileAnswers_settle_goodOnesComeThrough_andMemoryStaysFlat() async throws {
    typealias Hostile = HostileServerTests
    let cases = Hostile.cutOff + Hostile.unusual + Hostile.redirects + Hostile.malformed + Hostile.endless
    // What the servers would record of each request is memory, too.
    try await withServer(keepsConnections: false, recordsRequests: false) { hostile in
      try await withServer(recordsRequests: false) { good in
        for (number, one) in cases.enumerated() { hostile.route("/\(number)", one.answer) }
        hostile.route("/normal", .ok("normal"))
        good.route("/", .ok("good"))
        let session = URLSession(configuration: .ephemeral), memory = ResidentMemory()
        var heap = HeapGrowth()
        let settled = Locked((hostile: 0, cancelled: 0, good: 0, bad: 0))
        // A busy machine makes them long: they are told, and not judged.
        let longest = Locked((cancel: Duration.zero, good: Duration.zero))
        let start = ContinuousClock.now
        for round in 1...Self.rounds {
          let end = start + .seconds(Soak.seconds) * round / Self.rounds
          await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
              group.addTask {
                while ContinuousClock.now < end {
                  let one = Int.random(in: cases.indices)
                  let operation = HTTPOperation(
                    request(hostile.url("/\(one)")), session: session, options: cases[one].limits)
                  async let outcome = outcomeOfStarting(operation)
                  var cancelled: ContinuousClock.Instant?
                  if Int.random(in: 0..<5) == 0 {
                    for _ in 0..<Int.random(in: 0..<50) { await Task.yield() }
                    cancelled = .now
                    operation.cancel()
                  }
                  let isCancelled = await outcome.isCancelled
                  if let cancelled {
                    let time = cancelled.duration(to: .now)
                    longest.withLock { $0.cancel = max($0.cancel, time) }
                  }
                  settled.withLock { settled in
                    settled.hostile += 1
                    if isCancelled { settled.cancelled += 1 }
                  }
                }
              }
            }
            group.addTask {
              var next = ContinuousClock.now
              while ContinuousClock.now < end {
                if ContinuousClock.now >= next {
                  next += .seconds(2)
                  memory.sample([getpid()])
                }
                let start = ContinuousClock.now
                let answer = await outcomeOfStarting(HTTPOperation(request(good.url()), session: session))
                let time = start.duration(to: .now)
                longest.withLock { $0.good = max($0.good, time) }
                settled.withLock { settled in
                  if answer.value?.text == "good" { settled.good += 1 } else { settled.bad += 1 }
                }
              }
            }
          }
          while hostile.running + good.running > 0 { await Task.yield() }
          heap.sample(after: settled.withLock { $0.hostile + $0.good })
        }
        let (requests, cancelled, answers, bad) = settled.current
        print("requests: \(requests) to a hostile server settled, \(cancelled) of them by a cancel")
        print("  \(answers) good ones beside them, \(bad) failed")
        print("  the longest took \(longest.current.good), and the longest cancel \(longest.current.cancel)")
        print("  memory in bytes, first and last third: \(memory.growth)")
        print("  memory in MiB, from the beginning to the end: \(memory.course(of: 0, steps: 10))")
        print("  allocated in KiB, after each round: \(heap.course)")
        print("  kept of a request, in bytes: \(heap.bytesPerWork.map { "\($0)" } ?? "unknown")")
        #expect(heap.bytesPerWork ?? 0 < Self.mostKept)
        #expect(requests > 0 && answers > 0 && bad == 0)
        for (first, last) in memory.growth { #expect(last < first + first / 4 + 32 << 20) }
      }
    }
  }
}
#endif
