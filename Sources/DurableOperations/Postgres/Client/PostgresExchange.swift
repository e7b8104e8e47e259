#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// A pipeline under way: sends it and receives its results, without ever waiting. The owner calls
/// ``advance(isReadable:)`` when the socket is ready.
struct PostgresExchange {
  /// What to wait for.
  struct Wait: Equatable {
    var writes: Bool
  }

  private enum Item {
    case preparation(String)
    case boundary(PostgresStatement)
    case statement(Int)
  }

  private enum Phase {
    case beginning
    /// COMMIT waits until the statements before it are sent.
    case sendingStatements
    case sendingAll
    case receiving
  }

  private let connection: PostgresConnection
  private let pipeline: PostgresPipeline
  private var phase = Phase.beginning
  /// The sent items, in order; `position` tells how many are answered.
  private var items: [Item] = []
  private var position = 0
  private var namesOnTheWay: Set<String> = []
  private var hasSentCommit = false
  private var results: [PostgresResult] = []
  private var failure: PostgresError?
  /// The outcome, once it is over.
  private(set) var end: Result<[PostgresResult], PostgresError>?

  /// If more than this is sent, COMMIT waits until it is gone: a connection that breaks meanwhile
  /// surely committed nothing.
  private static let mostAtOnce = 16_384

  init(_ pipeline: PostgresPipeline, on connection: PostgresConnection) {
    self.pipeline = pipeline
    self.connection = connection
  }

  private var functions: CompositeOperationsPostgresFunctions { connection.library.functions }

  /// Advances as far as possible without waiting.
  ///
  /// - Parameter isReadable: whether data arrived, or the connection ended.
  /// - Returns: what to wait for; nil when the exchange is over.
  mutating func advance(isReadable: Bool) -> Wait? {
    if end != nil { return nil }
    do throws(PostgresError) {
      if phase == .beginning { try begin() }
      // Answers must be read while there is more to send: the server stops reading until they are.
      let isLost = isReadable && functions.consumeInput(connection.handle) == 0
      if phase == .sendingStatements {
        guard try flush() else { return Wait(writes: true) }
        // Of a broken connection libpq says that all is sent.
        if isLost || functions.consumeInput(connection.handle) == 0 { return try endBeforeCommit() }
        try commit()
        phase = .sendingAll
      }
      if phase == .sendingAll {
        guard try flush() else { return Wait(writes: true) }
        phase = .receiving
      }
      if try receive(isLost: isLost) { return nil }
      return Wait(writes: false)
    } catch {
      end = .failure(error)
      return nil
    }
  }

  /// Ends the exchange, because its connection is being closed.
  mutating func close() {
    if end == nil { end = .failure(lost("the connection was closed")) }
  }

  /// Ends the exchange after its time limit.
  mutating func giveUp(after duration: Duration) {
    if end == nil { end = .failure(lost("the server did not answer within \(duration)")) }
  }

  // MARK: - Sending

  private mutating func begin() throws(PostgresError) {
    guard !connection.isBroken, functions.enterPipelineMode(connection.handle) == 1 else {
      throw connection.lost(.connectionLost)
    }
    if pipeline.boundary.begins { try send(.begin, 0..<0, as: .boundary(.begin)) }
    for (index, entry) in pipeline.entries.enumerated() {
      try send(entry.statement, entry.parameters, as: .statement(index))
    }
    if pipeline.boundary.commits, pipeline.parameters.bytes.count > Self.mostAtOnce {
      phase = .sendingStatements
    } else {
      try commit()
      phase = .sendingAll
    }
  }

  /// Ends an exchange whose connection broke before COMMIT was sent, with what the server said.
  private mutating func endBeforeCommit() throws(PostgresError) -> Wait? {
    _ = try receive(isLost: true)
    throw lost()
  }

  private mutating func commit() throws(PostgresError) {
    // From here on, COMMIT may reach the server.
    hasSentCommit = true
    if pipeline.boundary.commits { try send(.commit, 0..<0, as: .boundary(.commit)) }
    guard functions.pipelineSync(connection.handle) == 1 else { throw lost() }
  }

  private mutating func send(
    _ statement: PostgresStatement, _ parameters: Range<Int>, as item: Item
  ) throws(PostgresError) {
    let list = pipeline.parameters.list[parameters]
    precondition(
      list.count <= PostgresParameters.mostOfAStatement,
      "A statement has \(list.count) values; PostgreSQL takes 65,535 at most")
    let types = list.map(\.type.number)
    let lengths = list.map(\.count)
    let formats = list.map { $0.isBinary ? 1 : 0 as Int32 }
    let (count, form) = (Int32(list.count), statement.form == .binary ? 1 : 0 as Int32)
    let (handle, functions) = (connection.handle, functions)
    let name = connection.configuration.isPooled ? nil : statement.name
    if let name, !connection.preparedNames.contains(name), namesOnTheWay.insert(name).inserted {
      guard functions.sendPrepare(handle, name, statement.sql, count, types) == 1 else { throw lost() }
      items.append(.preparation(name))
    }
    let isSent = pipeline.parameters.bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { bytes in
        let values = list.map { parameter in parameter.start.flatMap { bytes.baseAddress?.advanced(by: $0) } }
        if let name { return functions.sendQueryPrepared(handle, name, count, values, lengths, formats, form) }
        return functions.sendQueryParams(handle, statement.sql, count, types, values, lengths, formats, form)
      }
    }
    guard isSent == 1 else { throw lost() }
    items.append(item)
  }

  /// Returns whether everything is sent.
  private func flush() throws(PostgresError) -> Bool {
    switch functions.flush(connection.handle) {
    case 0: return true
    case 1: return false
    default: throw lost()
    }
  }

  // MARK: - Receiving

  /// Receives the available results. Returns whether all have arrived.
  private mutating func receive(isLost: Bool) throws(PostgresError) -> Bool {
    while functions.isBusy(connection.handle) == 0 {
      guard let handle = functions.getResult(connection.handle) else {
        // The answer to a statement is over.
        position += 1
        guard position <= items.count + 1 else { throw lost("the server answered to nothing") }
        continue
      }
      let status = functions.resultStatus(handle)
      let form = current?.statement?.form ?? .binary
      let result = PostgresResult(handle, library: connection.library, form: form)
      switch status {
      case 10:
        finish()
        return true
      case 0, 1, 2: take(result)
      // Not run, because another statement failed.
      case 11: break
      case 7:
        let error = error(in: result)
        if error.endsConnection {
          connection.markBroken()
          if hasCommitted {
            finish()
            return true
          }
          throw failure ?? (isAnswered ? error : uncertain(error))
        }
        failure = failure ?? error
      default: throw lost("a statement copies data, which cannot be done here")
      }
    }
    if isLost {
      if hasCommitted {
        // Only the server's report that it is ready did not arrive.
        connection.markBroken()
        finish()
        return true
      }
      throw lost()
    }
    return false
  }

  private var current: (item: Item, statement: PostgresStatement?)? {
    guard items.indices.contains(position) else { return nil }
    switch items[position] {
    case .preparation: return (items[position], nil)
    case .boundary(let statement): return (items[position], statement)
    case .statement(let index): return (items[position], pipeline.entries[index].statement)
    }
  }

  private mutating func take(_ result: PostgresResult) {
    switch current?.item {
    case .preparation(let name): connection.preparedNames.insert(name)
    case .statement: results.append(result)
    case .boundary:
      // The server says so if a statement had ended the transaction.
      if position == items.count - 1, pipeline.boundary.commits, result.command == "ROLLBACK" {
        failure = failure ?? error(.transactionEnded, "it was rolled back")
      }
    case nil: break
    }
  }

  private mutating func finish() {
    if functions.exitPipelineMode(connection.handle) != 1 { connection.markBroken() }
    end = failure.map { .failure($0) } ?? .success(results)
  }

  /// Whether the last item has its answer, which is no error.
  private var hasCommitted: Bool {
    hasSentCommit && failure == nil && position >= items.count && pipeline.boundary.commits
  }

  // MARK: - Errors

  /// Whether an error answers an item before COMMIT: answers come in order, so COMMIT was not run.
  private var isAnswered: Bool { !hasSentCommit || position < items.count - 1 }

  private func error(_ code: PostgresError.Code, _ message: String) -> PostgresError {
    PostgresError(code, message: message, place: connection.address.place)
  }

  private func error(in result: PostgresResult) -> PostgresError {
    func field(_ name: Character) -> String? {
      functions.resultErrorField(result.handle, Int32(name.asciiValue!)).map { String(cString: $0) }
    }
    // Libpq's own errors about the end of the connection have no SQLSTATE.
    guard let state = field("C") else { return lostByAnswer(result) }
    let isLast = ["FATAL", "PANIC"].contains(field("V") ?? "")
    let details = [field("D"), field("H")].compactMap(\.self)
    var code = PostgresError.Code(sqlState: state)
    if isLast, !PostgresError(code, message: "").endsConnection { code = .connectionLost }
    if !isLast, code == .connectionLost || code == .cannotConnect { code = .statement }
    return PostgresError(
      code, sqlState: state, message: connection.address.shown(field("M") ?? ""),
      details: details.isEmpty ? nil : connection.address.shown(details.joined(separator: " ")),
      sql: isLast ? nil : currentSQL, place: connection.address.place)
  }

  private var currentSQL: String? {
    switch current?.item {
    case .preparation(let name): pipeline.entries.first { $0.statement.name == name }?.statement.sql
    default: current?.statement?.sql
    }
  }

  private func lostByAnswer(_ result: PostgresResult) -> PostgresError {
    lost(functions.resultErrorMessage(result.handle).map { String(cString: $0) })
  }

  /// Marks the connection as unusable, and makes the error.
  private func lost(_ message: String? = nil) -> PostgresError {
    let error = connection.lost(.connectionLost, message)
    // An earlier failure has undone the rest.
    return failure ?? uncertain(error)
  }

  /// The same error, or ``PostgresError/Code/outcomeUnknown`` if the server may have committed
  /// without being able to say so.
  private func uncertain(_ error: PostgresError) -> PostgresError {
    guard hasSentCommit, pipeline.boundary.mayCommit else { return error }
    return PostgresError(
      .outcomeUnknown, sqlState: error.sqlState, message: error.message, details: error.details, place: error.place)
  }
}
#endif
