#if os(macOS) || os(Linux)
/// Statements that are sent at once, in one round trip. If one fails, the server skips those behind
/// it.
struct PostgresPipeline: Sendable {
  /// How the pipeline relates to a transaction.
  enum Boundary: Sendable {
    /// It is a transaction: BEGIN, the statements, COMMIT.
    case transaction
    /// It begins a transaction, and leaves it open.
    case opening
    /// It belongs to an open transaction.
    case inside
    /// It ends an open transaction, by COMMIT.
    case closing
    /// It has neither BEGIN nor COMMIT: the server makes one transaction of the whole pipeline.
    case implicit
    /// The same for statements that change nothing: a lost connection leaves nothing uncertain.
    case reading

    var begins: Bool { self == .transaction || self == .opening }
    var commits: Bool { self == .transaction || self == .closing }
    /// Whether statements without an answer may be stored.
    var mayCommit: Bool { commits || self == .implicit }
    /// Whether a failure ends the transaction, so that the connection can be used for another one.
    var rollsBack: Bool { self != .inside }
  }

  struct Entry: Sendable {
    let statement: PostgresStatement
    /// The range of its own values.
    let parameters: Range<Int>
  }

  let boundary: Boundary
  private(set) var entries: [Entry] = []
  private(set) var parameters = PostgresParameters()

  init(_ boundary: Boundary = .transaction) {
    self.boundary = boundary
  }

  /// A pipeline of one statement.
  init(_ boundary: Boundary, _ statement: PostgresStatement) {
    self.init(boundary)
    add(statement)
  }

  /// A pipeline of one statement; `bind` binds its values, in their order.
  init<Failure>(
    _ boundary: Boundary, _ statement: PostgresStatement, _ bind: (inout PostgresParameters) throws(Failure) -> Void
  ) throws(Failure) {
    self.init(boundary)
    try add(statement, bind)
  }

  /// Adds a statement without values. Returns the position of its result.
  @discardableResult
  mutating func add(_ statement: PostgresStatement) -> Int { add(statement) { _ in } }

  /// Adds a statement; `bind` binds its values, in their order.
  ///
  /// - Returns: the position of its result.
  @discardableResult
  mutating func add<Failure>(
    _ statement: PostgresStatement, _ bind: (inout PostgresParameters) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    let first = parameters.list.count
    try bind(&parameters)
    entries.append(Entry(statement: statement, parameters: first..<parameters.list.count))
    return entries.count - 1
  }

  /// The same pipeline with other statements that take the same values.
  func mapStatements(_ transform: (Int, PostgresStatement) -> PostgresStatement) -> PostgresPipeline {
    var copy = self
    copy.entries = entries.enumerated().map { index, entry in
      Entry(statement: transform(index, entry.statement), parameters: entry.parameters)
    }
    return copy
  }
}
#endif
