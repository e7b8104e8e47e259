/// Measures rows.
struct Harness: Sendable {
  /// One side of a comparison.
  enum OneSide: String, Sendable {
    case here, peer
  }

  /// The rounds of every row; nil chooses them by the time that a row takes.
  var rounds: Int?
  /// For how many seconds each side and its peer run, where a row does not say how often.
  var seconds = 2.2
  /// The factor for budgets.
  var slack = 1.0
  /// The side of comparisons that runs alone; nil to compare.
  var side: OneSide?

  /// Measures one row.
  ///
  /// - Parameter roundFactor: the factor for the number of rounds.
  func measure(_ row: Row, roundFactor: Int = 1) throws -> RowResult {
    var result: RowResult
    switch row.measurement {
    case .comparison(let subject, let peer):
      result =
        switch side {
        case nil: compare(row, subject: subject, peer: peer, roundFactor: roundFactor)
        case .here: time(row, subject: subject)
        case .peer: time(row, subject: peer)
        }
    case .quantile(let fraction, let subject, let peer):
      result = compare(row, quantile: fraction, subject: subject, peer: peer, roundFactor: roundFactor)
    case .time(let subject):
      result = time(row, subject: subject)
    case .steps(let body):
      let counts = Stopwatch.result(of: body)
      result = RowResult(row, rounds: counts.count, slack: slack)
      result.steps = Samples(counts.map(Double.init)).median
    case .bytesPerOperation(let probe):
      result = RowResult(row, rounds: 1, slack: slack)
      result.bytesPerOperation = Double(try probe.measureInChildProcess(row.count)) / Double(row.count)
    case .mebibytes(let probe):
      result = RowResult(row, rounds: 1, slack: slack)
      let bytes = Double(try probe.measureInChildProcess(row.count))
      result.bytesPerOperation = bytes / Double(row.count)
      result.mebibytes = bytes / 1_048_576
    case .allocations(let subject):
      let counts = Allocations.perOperation(row.count, rounds: (rounds ?? row.rounds ?? 5) * roundFactor, of: subject)
      result = RowResult(row, rounds: counts.count, slack: slack)
      result.allocations = counts.isEmpty ? nil : Samples(counts).median
    }
    result.judge()
    return result
  }

  /// Runs the peer and the package in turn. The ratio is taken in each round, so that a temporarily
  /// slow machine affects both sides, and the median of the ratios ignores single interruptions.
  private func compare(_ row: Row, subject: Side, peer: Side, roundFactor: Int) -> RowResult {
    let subjectOnce = warmUp(subject)
    // A peer so slow that it runs only once is not warmed up.
    let peerOnce = row.rounds == 1 ? subjectOnce : warmUp(peer)
    let plan = Plan(fastest: min(peerOnce, subjectOnce), round: peerOnce + subjectOnce, seconds: seconds)
    let rounds = rounds ?? (row.rounds ?? plan.rounds) * roundFactor
    // A single short run of this side, after a peer that runs only once, would vary too much.
    let runs = row.rounds == 1 ? 9 : 1
    var peers: [Double] = []
    var subjects: [Double] = []
    for _ in 0..<rounds {
      peers.append(Stopwatch.nanoseconds(peer, repetitions: plan.repetitions))
      let samples = (0..<runs).map { _ in Stopwatch.nanoseconds(subject, repetitions: plan.repetitions) }
      subjects.append(Samples(samples).median)
    }
    let ratios = Samples(zip(subjects, peers).map { $0 / $1 })
    var result = RowResult(row, rounds: rounds, slack: slack)
    result.peerNanoseconds = Samples(peers).median / Double(row.count)
    result.nanoseconds = Samples(subjects).median / Double(row.count)
    result.ratio = ratios.median
    result.ratioQuartiles = [ratios.lowerQuartile, ratios.upperQuartile]
    return result
  }

  /// The quantile is taken over the samples of all rounds: one round has too few rare cases. The
  /// middle half of the ratios is still that of the rounds.
  private func compare(
    _ row: Row, quantile: Double, subject: () -> [Double], peer: () -> [Double], roundFactor: Int
  ) -> RowResult {
    _ = (peer(), subject())
    let rounds = rounds ?? (row.rounds ?? 7) * roundFactor
    var peers: [[Double]] = []
    var subjects: [[Double]] = []
    for _ in 0..<rounds {
      if side != .here { peers.append(peer()) }
      if side != .peer { subjects.append(subject()) }
    }
    var result = RowResult(row, rounds: rounds, slack: slack)
    func figure(_ rounds: [[Double]]) -> Double? {
      rounds.isEmpty ? nil : Samples(rounds.flatMap(\.self)).quantile(quantile)
    }
    result.nanoseconds = figure(side == .peer ? peers : subjects)
    guard side == nil, let here = result.nanoseconds, let there = figure(peers) else { return result }
    let ratios = Samples(zip(subjects, peers).map { Samples($0).quantile(quantile) / Samples($1).quantile(quantile) })
    result.peerNanoseconds = there
    result.ratio = here / there
    result.ratioQuartiles = [ratios.lowerQuartile, ratios.upperQuartile]
    return result
  }

  private func time(_ row: Row, subject: Side) -> RowResult {
    let once = warmUp(subject)
    let plan = Plan(fastest: once, round: once, seconds: seconds / 3)
    let rounds = rounds ?? plan.rounds
    var samples: [Double] = []
    for _ in 0..<rounds {
      samples.append(Stopwatch.nanoseconds(subject, repetitions: plan.repetitions))
    }
    var result = RowResult(row, rounds: rounds, slack: slack)
    result.nanoseconds = Samples(samples).median / Double(row.count)
    return result
  }

  /// Runs a side at least twice and for 50 ms, and returns the nanoseconds of its fastest run.
  private func warmUp(_ side: Side) -> Double {
    guard rounds != 1 else { return Stopwatch.nanoseconds(side) }
    let start = ContinuousClock.now
    var fastest = Stopwatch.nanoseconds(side)
    repeat {
      fastest = min(fastest, Stopwatch.nanoseconds(side))
    } while ContinuousClock.now - start < .milliseconds(50)
    return fastest
  }
}

/// How often a row's sides run.
struct Plan: Sendable {
  /// The runs in one sample.
  let repetitions: Int
  /// The samples of each side.
  let rounds: Int

  /// Plans for sides of which the faster one takes `fastest` ns, and all together `round` ns.
  ///
  /// A sample takes at least 5 ms, so that neither the clock nor one wake-up shows in it. There are
  /// as many rounds as fit into `seconds`, but enough for a meaningful median.
  init(fastest: Double, round: Double, seconds: Double) {
    repetitions = min(10_000, max(1, Int((5e6 / fastest).rounded(.up))))
    let fitting = Int(seconds * 1e9 / (round * Double(repetitions)))
    // Odd, so that the median is one of the samples.
    rounds = min(81, max(7, fitting)) | 1
  }
}
