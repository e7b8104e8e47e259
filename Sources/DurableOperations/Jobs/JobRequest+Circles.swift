extension JobRequest {
  /// Throws if jobs of one call wait for each other: none of them could ever run.
  static func refuseCircles(_ jobs: [JobRequest]) throws {
    guard jobs.contains(where: { $0.options.dependsOn.contains { $0.position != nil } }) else { return }
    var prerequisites: [[Int]] = []
    for job in jobs {
      prerequisites.append(
        try job.options.dependsOn.compactMap { id in
          guard let position = id.position else { return nil }
          guard jobs.indices.contains(position) else { throw JobError(.unknownPrerequisite(id), kind: job.kind) }
          return position
        })
    }
    if let circle = circle(in: prerequisites) { throw JobError(.cycle(circle)) }
  }

  /// A path through prerequisites that ends where it begins; nil if there is none.
  static func circle(in prerequisites: [[Int]]) -> [Int]? {
    var isFinished = [Bool](repeating: false, count: prerequisites.count)
    var place = [Int?](repeating: nil, count: prerequisites.count)
    for root in prerequisites.indices where !isFinished[root] {
      // The path of the search. Each job comes with the number of its prerequisites that were
      // searched.
      var path = [(job: root, next: 0)]
      place[root] = 0
      while let (job, next) = path.last {
        guard next < prerequisites[job].count else {
          isFinished[job] = true
          place[job] = nil
          path.removeLast()
          continue
        }
        path[path.count - 1].next += 1
        let prerequisite = prerequisites[job][next]
        if let start = place[prerequisite] { return path[start...].map(\.job) + [prerequisite] }
        guard !isFinished[prerequisite] else { continue }
        place[prerequisite] = path.count
        path.append((prerequisite, 0))
      }
    }
    return nil
  }
}
