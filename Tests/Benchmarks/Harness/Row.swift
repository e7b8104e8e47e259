/// One line of the benchmark table.
struct Row: Sendable {
  /// How a row gets its figure.
  enum Measurement: Sendable {
    /// The ratio of the package's time to that of a peer doing the same.
    case comparison(subject: Side, peer: Side)
    /// The ratio of a quantile, of the nanoseconds that each side returns for several cases.
    case quantile(Double, subject: @Sendable () -> [Double], peer: @Sendable () -> [Double])
    /// The time alone, to show how cost grows.
    case time(Side)
    /// How many steps of other work pass meanwhile, in each of several tries.
    case steps(@Sendable () async -> [Int])
    /// Bytes of memory per operation, measured in a process of its own.
    case bytesPerOperation(MemoryProbe)
    /// All the memory that was added, in MiB, measured in a process of its own.
    case mebibytes(MemoryProbe)
    /// Allocations of memory per operation, in runs of as many operations as the argument.
    case allocations(@Sendable (Int) -> Side)

    /// The unit of the figure that the budget limits.
    var unit: Unit {
      switch self {
      case .comparison, .quantile: .ratio
      case .time: .nanoseconds
      case .steps: .steps
      case .bytesPerOperation: .bytes
      case .mebibytes: .mebibytes
      case .allocations: .allocations
      }
    }
  }

  /// The unit of a figure.
  enum Unit: String, Codable, Sendable {
    case ratio, nanoseconds, steps, bytes, mebibytes, allocations
  }

  /// The limit of a row.
  struct Budget: Sendable {
    /// The maximum of the figure, in the unit of the row's measurement.
    let limit: Double
    /// The aim for the figure.
    let aim: Double?
    /// If the row is known to miss its limit: the figure above which it has become worse.
    let known: Double?

    static func atMost(_ limit: Double, aim: Double? = nil, known: Double? = nil) -> Budget {
      Budget(limit: limit, aim: aim, known: known)
    }
  }

  /// The group of rows that the row is printed with.
  let section: String
  /// What is measured.
  let name: String
  /// What it is compared with.
  var against: String?
  /// The operations in one run, by which times are divided.
  let count: Int
  /// The budget, where the row has one.
  var budget: Budget?
  /// The rounds, if the row's time does not choose them: for a peer that takes seconds.
  var rounds: Int?
  /// How the figure is found.
  let measurement: Measurement

  /// Whether `text` occurs in the row's words.
  func matches(_ text: String) -> Bool {
    [section, name, against ?? ""].joined(separator: " ").lowercased().contains(text.lowercased())
  }
}

/// The result of a row.
struct RowResult: Codable, Sendable {
  /// How far a row kept to its budget.
  enum Verdict: String, Codable, Sendable {
    case noBudget, withinAim, withinBudget, knownMiss, overBudget
  }

  let section: String
  let name: String
  let against: String?
  /// The operations in one run.
  let operations: Int
  /// The rounds, each of one sample per side.
  let rounds: Int
  /// The package's time per operation: the median.
  var nanoseconds: Double?
  /// The peer's time per operation: the median.
  var peerNanoseconds: Double?
  /// The median of the rounds' ratios.
  var ratio: Double?
  /// The middle half of the rounds' ratios.
  var ratioQuartiles: [Double]?
  /// The steps that passed meanwhile: the median.
  var steps: Double?
  /// Memory per operation.
  var bytesPerOperation: Double?
  /// Memory added by all operations together.
  var mebibytes: Double?
  /// Allocations per operation: the median.
  var allocations: Double?
  /// The unit of the figure.
  let unit: Row.Unit
  /// The maximum of the figure.
  let budget: Double?
  /// The aim for the figure.
  let aim: Double?
  /// Where the row is known to miss its budget: above this it has become worse.
  let known: Double?
  /// By how much the budget was multiplied for the verdict.
  let slack: Double
  private(set) var verdict = Verdict.noBudget
  /// Whether earlier measurements were over the budget; the figures are those of the last one.
  var isRepeated = false

  /// Makes the result of a row without its figures.
  init(_ row: Row, rounds: Int, slack: Double) {
    section = row.section
    name = row.name
    against = row.against
    operations = row.count
    self.rounds = rounds
    unit = row.measurement.unit
    budget = row.budget?.limit
    aim = row.budget?.aim
    known = row.budget?.known
    // Counts are the same on every machine, and while it does other work.
    self.slack = unit == .allocations ? 1 : slack
  }

  /// The figure that the budget is about.
  var figure: Double? {
    switch unit {
    case .ratio: ratio
    case .nanoseconds: nanoseconds
    case .steps: steps
    case .bytes: bytesPerOperation
    case .mebibytes: mebibytes
    case .allocations: allocations
    }
  }

  /// Compares the figure with the budget.
  mutating func judge() {
    guard let budget, let figure else { return }
    if figure > budget * slack {
      verdict = known.map { figure <= $0 } == true ? .knownMiss : .overBudget
    } else if let aim, figure <= aim {
      verdict = .withinAim
    } else {
      verdict = .withinBudget
    }
  }
}
