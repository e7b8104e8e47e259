import CompositeOperations

extension Table {
  /// Composites with a recorder attached, against the same without.
  static var recorded: [Row] {
    let count = 10_000
    return [
      Row(
        section: "With a timeline recorder", name: name(count, "children in parallel"), against: "the same without",
        count: count, budget: .atMost(1.3),
        measurement: .comparison(
          subject: .blocking { Recorded.runParallel(count) }, peer: .blocking { Parallel.run(count) })),
      Row(
        section: "With a timeline recorder", name: "100 composites of 100 children", against: "the same without",
        count: count,
        measurement: .comparison(
          subject: .blocking { Recorded.runNested(outer: 100, inner: 100) },
          peer: .blocking { Parallel.runNested(outer: 100, inner: 100) })),
    ]
  }
}
