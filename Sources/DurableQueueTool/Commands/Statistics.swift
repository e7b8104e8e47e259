import CompositeOperationsCommandLine
import DurableOperations
import Foundation

extension DurableQueueCommand {
  /// Prints the numbers of jobs.
  func statistics(of queue: DurableQueue, _ request: Request) throws {
    let counts = try queue.counts()
    let bytes = try queue.storedSize()
    try output(request.isJSON ? json(counts, bytes, request).text + "\n" : text(counts, bytes, request))
  }

  private func text(_ counts: JobCounts, _ bytes: Int, _ request: Request) -> String {
    let total = (counts.isApproximate ? "about " : "") + Wording.count(counts.total, "job")
    let title = "\(request.place.title)  \(Wording.size(bytes)), \(total)\n"
    guard !counts.kinds.isEmpty else { return title }
    let states = JobState.allCases.filter { counts[$0] > 0 }
    var table = Table(sides: [.left] + states.map { _ in .right } + [.right], indentation: "")
    table.add(["kind"] + states.map(\.description) + ["total", ""])
    for kind in counts.kinds {
      let numbers = states.map { kind[$0] == 0 ? "-" : "\(kind[$0])" }
      table.add([Wording.plain(kind.kind)] + numbers + ["\(kind.total)", note(kind)])
    }
    if counts.kinds.count > 1 { table.add(["total"] + states.map { "\(counts[$0])" } + ["\(counts.total)", ""]) }
    return title + "\n" + table.text
  }

  private func note(_ kind: JobCounts.Kind) -> String {
    [kind.isPaused ? "paused" : nil, kind.limit.map { "\($0) at most" }].compactMap(\.self).joined(separator: ", ")
  }

  private func json(_ counts: JobCounts, _ bytes: Int, _ request: Request) -> JSONText {
    func states(_ count: (JobState) -> Int) -> JSONText {
      .object(JobState.allCases.map { ($0.description, JSONText(count($0))) })
    }
    let kinds = JSONText.array(
      counts.kinds.map { kind in
        [
          "kind": .string(kind.kind), "paused": .bool(kind.isPaused),
          "limit": kind.limit.map { JSONText($0) } ?? .null, "total": JSONText(kind.total),
          "states": states { kind[$0] },
        ]
      })
    return .object(
      request.place.json + [
        ("bytes", JSONText(bytes)), ("total", JSONText(counts.total)), ("approximate", .bool(counts.isApproximate)),
        ("states", states { counts[$0] }),
        ("kinds", kinds),
      ])
  }
}
