#if os(macOS) || os(Linux)
import Foundation

extension PostgresConnection {
  /// Sends a pipeline, and blocks the thread of the caller until its results arrive.
  ///
  /// - Parameter timeout: the time limit; by default the configuration's.
  /// - Returns: the results of the statements, in their order.
  @discardableResult
  func run(_ pipeline: PostgresPipeline, timeout: Duration? = nil) throws(PostgresError) -> [PostgresResult] {
    let deadline = PostgresDeadline(after: timeout ?? configuration.statementTimeout)
    let end = exchange(pipeline, until: deadline)
    if case .failure = end, pipeline.boundary.rollsBack { rollBack(until: deadline) }
    return try end.get()
  }

  /// Runs one statement.
  @discardableResult
  func run(
    _ boundary: PostgresPipeline.Boundary, _ statement: PostgresStatement,
    _ bind: (inout PostgresParameters) throws(PostgresError) -> Void
  ) throws(PostgresError) -> PostgresResult {
    try run(PostgresPipeline(boundary, statement, bind))[0]
  }

  /// Runs one statement without values.
  @discardableResult
  func run(
    _ boundary: PostgresPipeline.Boundary, _ statement: PostgresStatement
  ) throws(PostgresError) -> PostgresResult {
    try run(PostgresPipeline(boundary, statement))[0]
  }

  /// Runs a closure in one transaction. An error that it throws rolls the transaction back.
  ///
  /// - Parameter settings: a statement such as ``PostgresStatement/settingLocally(_:name:)``, to be
  ///   run first.
  @discardableResult
  func transaction<R>(
    settings: PostgresStatement? = nil, _ body: (PostgresConnection) throws -> R
  ) throws -> R {
    var opening = PostgresPipeline(.opening)
    if let settings { opening.add(settings) }
    try run(opening)
    do {
      let result = try body(self)
      try run(PostgresPipeline(.closing))
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Ends an open transaction. If that fails, the connection is unusable.
  func rollBack() { rollBack(until: PostgresDeadline(after: configuration.statementTimeout)) }

  private func rollBack(until deadline: PostgresDeadline) {
    guard !isBroken, transactionState != .idle else { return }
    let end = exchange(PostgresPipeline(.inside, .rollback), until: deadline)
    if case .failure = end { markBroken() }
  }

  private func exchange(
    _ pipeline: PostgresPipeline, until deadline: PostgresDeadline
  ) -> Result<[PostgresResult], PostgresError> {
    var exchange = PostgresExchange(pipeline, on: self)
    var wait = exchange.advance(isReadable: false)
    while let events = wait {
      guard deadline.wait(for: events.writes ? POLLIN | POLLOUT : POLLIN, at: descriptor) else {
        exchange.giveUp(after: deadline.duration)
        break
      }
      // While sending, nothing to read is no end of the connection.
      wait = exchange.advance(isReadable: true)
    }
    guard let end = exchange.end else { preconditionFailure("A pipeline ended without results") }
    return end
  }
}
#endif
