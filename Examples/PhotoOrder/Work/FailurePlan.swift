/// Decides which attempts fail, and when.
///
/// The seed, the task and the number of its attempt alone decide: not the time, and not what other tasks do. So the same
/// seed lets the same attempts fail.
struct FailurePlan: Equatable, Sendable {
  let probability: Double
  let seed: UInt64

  /// How far an attempt gets before it fails, from 0 to 1; nil if it does not.
  func failure(of task: String, attempt: Int) -> Double? {
    var random = SplitMix64(state: seed)
    for byte in task.utf8 { random.mix(UInt64(byte)) }
    random.mix(UInt64(attempt))
    let isFailure = random.fraction() < probability
    let moment = random.fraction()
    return isFailure ? moment : nil
  }
}

/// A small generator of numbers that look random, always the same for the same state (Steele, Lea and Flood, 2014).
struct SplitMix64 {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// A number from 0 up to but not including 1.
  mutating func fraction() -> Double {
    Double(next() >> 11) / Double(1 << 53)
  }

  /// Lets what follows depend on `value`, too.
  mutating func mix(_ value: UInt64) {
    state = next() ^ value
  }
}

/// The failure of an attempt that was decided by `--fail`.
struct MadeUpFailure: Error, Equatable, CustomStringConvertible {
  let progress: Double

  var description: String { "the connection was lost at \(Int(progress * 100)) % (made up by --fail); retry it" }
}
