#if os(macOS) || os(Linux)
import CompositeOperations

/// The questions about what becomes due next, as part of a pipeline, and their answers.
struct PostgresAhead {
  private(set) var answer = StoreAhead()
  /// When the last periodic job was due; nil if there is none.
  private(set) var lastOccurrence: Int64?
  /// Whether the server is a standby.
  private(set) var takesNoChanges = false

  private let store: PostgresStore
  /// The time from which scheduled jobs are read.
  private let start: Int64
  /// Whether reading moves the cursor.
  private let movesCursor: Bool
  private var places = Places()

  private struct Places {
    var now = 0, due = 0, clocks: [Int] = [], occurrence = 0, firstFinish: Int?, unknownKinds: Int?
  }

  init(_ store: PostgresStore, movesCursor: Bool) {
    self.store = store
    self.movesCursor = movesCursor
    start = store.scheduled.withLock { movesCursor ? $0.begin(at: .now) : $0.start }
  }

  /// Adds the questions.
  mutating func ask(_ question: StoreAhead.Question, in pipeline: inout PostgresPipeline) {
    let (schema, start) = (store.schema, start)
    places.now = pipeline.add(
      store.statement("now_and_role", "SELECT coalesce($1::bigint, \(schema).now_ms()), pg_catalog.pg_is_in_recovery()")
    ) { $0.bind(store.testTime) }
    if movesCursor { places.clocks.append(pipeline.add(store.clock)) }
    places.due = pipeline.add(
      store.statement(
        "next_due",
        "SELECT run_at FROM \(schema).jobs WHERE state = \(.scheduled) AND run_at >= $1 ORDER BY run_at LIMIT 1")
    ) { $0.bind(start) }
    if movesCursor { places.clocks.append(pipeline.add(store.clock)) }
    places.occurrence = pipeline.add(
      store.statement(
        "occurrences_ahead",
        "SELECT pg_catalog.min(next_at) FILTER (WHERE next_at > $1), pg_catalog.max(last_at) FROM \(schema).periodic")
    ) { $0.bind(question.occurrencesAfter ?? .min) }
    if question.wantsFirstFinish {
      places.firstFinish = pipeline.add(
        store.statement(
          "first_finish",
          """
          SELECT finished_at FROM \(schema).jobs
          WHERE state IN (\(.cancelled, .done)) AND finished_at >= $1 AND (flags & \(flags: .hasDependents) = 0
            OR (SELECT dependent FROM \(schema).dependencies WHERE prerequisite = jobs.id LIMIT 1) IS NULL)
          ORDER BY finished_at LIMIT 1
          """)
      ) { $0.bind(store.finished.withLock(\.start)) }
    }
    if let known = question.knownKinds {
      places.unknownKinds = pipeline.add(
        store.statement("unknown_kinds", PostgresSession.unknownKinds(schema))
      ) { $0.bind(Array(known)) }
    }
  }

  /// Takes the answers from the results of the pipeline.
  mutating func take(_ results: [PostgresResult]) {
    let first = results[places.now].row(0)
    (answer.now, takesNoChanges) = (first.integer(0), first.bool(1))
    answer.nextDue = results[places.due].first { $0.integer(0) }
    let occurrences = results[places.occurrence].row(0)
    answer.nextOccurrence = occurrences.optionalInteger(0)
    lastOccurrence = occurrences.optionalInteger(1)
    answer.firstFinish = places.firstFinish.flatMap { results[$0].first { $0.integer(0) } }
    answer.unknownKinds = places.unknownKinds.map { results[$0].map(PostgresSession.unknownKind) }
    guard movesCursor else { return }
    let duration = store.duration(from: results[places.clocks[0]], to: results[places.clocks[1]])
    let reached = min(answer.nextDue ?? answer.now, answer.now)
    store.scheduled.withLock { $0.read(from: start, to: reached, took: duration) }
  }
}
#endif
