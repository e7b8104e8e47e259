/// All rows, in the order in which they are measured and printed.
enum Table {
  /// The sizes at which cost is shown.
  static let sizes = [100, 1_000, 10_000, 100_000]

  static let rows: [Row] =
    parallel + recorded + sequential + single + bodies + nested + exclusion + time + workflows + pipelines
    + allocations + http + managed + durable + postgres
    + growth + memory

  static func name(_ count: Int, _ things: String) -> String {
    "\(Figures.grouped(count)) \(things)"
  }
}
