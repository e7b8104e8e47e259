import PipelineOperations

extension Table {
  /// Pipelines of steps that make an operation, against as many `then`s of the core that make the
  /// same operations.
  static var pipelines: [Row] {
    let section = "Pipeline"
    let kept = [3, 100, 10_000].map { count in
      let pipeline = Hops.pipeline(count)
      return Row(
        section: section, name: name(count, "steps"), against: "then", count: count, budget: .atMost(1.5),
        measurement: .comparison(
          subject: .blocking { Hops.run(pipeline, steps: count) }, peer: .blocking { Hops.runThens(count) }))
    }
    let built = Row(
      section: section, name: "100 steps, put together for each run", against: "then", count: 100, budget: .atMost(1.5),
      measurement: .comparison(
        subject: .blocking { Hops.run(Hops.pipeline(100), steps: 100) }, peer: .blocking { Hops.runThens(100) }))
    return kept + [built]
  }
}
