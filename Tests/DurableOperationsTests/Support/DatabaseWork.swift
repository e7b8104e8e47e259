import CompositeOperationsSQLite

@testable import DurableOperations

extension StoreHarness {
  /// How much the database does: the instructions of its machine, some ten for each row that it
  /// looks at, some hundred for one that it changes. The same each time, unlike the time it takes.
  func work(_ body: () throws -> Void) rethrows -> Int {
    let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    counter.initialize(to: 0)
    defer { counter.deallocate() }
    let handle = store.connection.handle
    sqlite3_progress_handler(
      handle, 1,
      {
        $0!.assumingMemoryBound(to: Int.self).pointee += 1
        return 0
      }, counter)
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    try body()
    return counter.pointee
  }

  /// Has something else happen at one of the instructions of what the database does meanwhile.
  /// Returns whether there are so many.
  func interrupting(
    at instruction: Int, by act: @escaping () throws -> Void, _ body: () throws -> Void
  ) throws -> Bool {
    let interruption = Interruption(at: instruction, act)
    let handle = store.connection.handle
    sqlite3_progress_handler(
      handle, 1,
      {
        Unmanaged<Interruption>.fromOpaque($0!).takeUnretainedValue().step()
        return 0
      }, Unmanaged.passUnretained(interruption).toOpaque())
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    try withExtendedLifetime(interruption) { try body() }
    try interruption.result?.get()
    return interruption.result != nil
  }

  /// A figure of all statements that are kept, together.
  func status(_ figure: Int32) -> Int {
    keptStatements.reduce(0) { $0 + Int(sqlite3_stmt_status($1, figure, 0)) }
  }

  /// The statements that were prepared and not finished.
  var keptStatements: [OpaquePointer] {
    Array(sequence(first: nil) { sqlite3_next_stmt(self.store.connection.handle, $0) }.dropFirst().compactMap { $0 })
  }

  /// Stores many jobs of the kind “a” at once, all in one state.
  func fill(_ count: Int, _ state: JobState, from first: Int = 1, uniqueKey: String? = nil) throws {
    try change { store in
      _ = try store.connection.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 + ?2 - 1)
        INSERT INTO durable_jobs (id, lane, state, major, minor, flags, blockers, enqueued_at, version, unique_key, payload)
          SELECT i, ?3, ?4, 10, 10, 0, 0, 1, 1, ?5, '{}' FROM n
        """,
        [
          SQLValue(first), SQLValue(count), .integer(JobLane.number(ofKind: try store.kindID("a"))),
          SQLValue(state.rawValue), SQLValue(uniqueKey),
        ])
      try store.recount()
    }
  }
}

/// Counts instructions, and does something at one of them.
private final class Interruption {
  private var left: Int
  private let act: () throws -> Void
  /// What came of it; nil before.
  private(set) var result: Result<Void, any Error>?

  init(at instruction: Int, _ act: @escaping () throws -> Void) {
    left = instruction
    self.act = act
  }

  func step() {
    left -= 1
    if left == 0 { result = Result { try act() } }
  }
}
