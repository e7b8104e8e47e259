extension Table {
  /// The memory of operations while they are held.
  static var memory: [Row] {
    let count = 100_000
    return [
      Row(
        section: "Memory", name: "one child that waits", count: count, measurement: .bytesPerOperation(.children)),
      Row(
        section: "Memory", name: "one child that finished", count: count,
        measurement: .bytesPerOperation(.finishedChildren)),
      Row(
        section: "Memory", name: "one BlockOperation, to compare", count: count,
        measurement: .bytesPerOperation(.blocks)),
      Row(section: "Memory", name: "one step", count: count, measurement: .bytesPerOperation(.steps)),
      Row(
        section: "Memory", name: "1,000,000 steps, resident at most", count: 1_000_000, budget: .atMost(80),
        measurement: .mebibytes(.steps)),
    ]
  }
}
