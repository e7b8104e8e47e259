import ExampleSupport

/// Decides which attempts fail, and when.
///
/// The seed, the task and the number of its attempt alone decide: not the time, and not what other
/// tasks do. So the same seed lets the same attempts fail.
struct FailurePlan: Equatable, Sendable {
  let probability: Double
  let seed: UInt64

  /// How far an attempt gets before it fails, from 0 to 1; nil if it does not.
  func failure(of task: String, attempt: Int) -> Double? {
    var random = SplitMix(seed: seed)
    for byte in task.utf8 { random.mix(UInt64(byte)) }
    random.mix(UInt64(attempt))
    let isFailure = random.fraction() < probability
    let moment = random.fraction()
    return isFailure ? moment : nil
  }
}

/// The failure of an attempt that was decided by `--fail`.
struct MadeUpFailure: Error, Equatable, CustomStringConvertible {
  let progress: Double

  var description: String { "the connection was lost at \(Int(progress * 100)) % (made up by --fail); retry it" }
}
