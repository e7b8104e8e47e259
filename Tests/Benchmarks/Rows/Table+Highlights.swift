extension Table {
  /// The rows of the README: a newcomer's first questions, including those where this package is
  /// slower.
  static let highlights = [
    DocumentReport.Highlight(
      section: "One SimpleOperation through an OperationQueue", name: "10,000 added at once",
      against: "a BlockOperation", title: "an operation in an `OperationQueue`", peer: "a `BlockOperation` there"),
    DocumentReport.Highlight(
      section: "Parallel", name: "10,000 children", against: "OperationQueue",
      title: "each of 10,000 children of a composite", peer: "`BlockOperation`s in an `OperationQueue`"),
    DocumentReport.Highlight(
      section: "Parallel, 10,000 children with bodies", name: "AsyncOperation that suspends once",
      against: "withTaskGroup", title: "each of 10,000 `async` children that suspend once", peer: "`withTaskGroup`"),
    DocumentReport.Highlight(
      section: "Workflow", name: "a chain of 1,000 tasks", against: "addDependency",
      title: "each task of a workflow, a chain of 1,000", peer: "operations with `addDependency`"),
    DocumentReport.Highlight(
      section: "Durable jobs", name: "enqueue one at a time, .full", against: "the same SQL in a bare loop",
      title: "a durable job, on the disk before `enqueue` returns", peer: "the same SQL, by hand"),
  ]
}
