/// A body that keeps a core busy for about a given time.
///
/// It does a counted amount of arithmetic, not a wait for a clock: a body whose thread was
/// interrupted still has all its work to do, so both sides do the same work, whatever else the
/// machine does.
struct Workload: Sendable {
  /// The time that the work takes on an idle core of this machine.
  let microseconds: Double

  /// Does the work.
  func run() {
    precondition(Self.turn(max(1, Int(microseconds * Self.stepsPerMicrosecond))) != 0)
  }

  /// The fastest of several measurements: interruptions only ever make one slower.
  private static let stepsPerMicrosecond: Double = {
    let steps = 100_000
    let clock = ContinuousClock()
    let samples = (0..<40).map { _ in
      clock.measure { precondition(turn(steps) != 0) }.nanoseconds / Double(steps)
    }
    return 1_000 / max(samples.min() ?? 1, 0.01)
  }()

  // Not inlined, and its result is used: the optimiser may neither drop nor shorten it. A xorshift
  // of a value that is not zero is never zero.
  @inline(never)
  private static func turn(_ steps: Int) -> UInt64 {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    for _ in 0..<steps {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
    }
    return state
  }
}
