#if os(macOS) || os(Linux)
import Foundation

/// Looks for problems of a queue on a server. It changes nothing, and sets nothing for the session,
/// which may be a pooler's.
struct PostgresDoctor {
  let connection: PostgresConnection
  let store: PostgresStore
  let limits: DurableQueue.DiagnosisLimits
  let now: () -> Date

  static func diagnose(
    _ url: String, _ options: PostgresOptions, _ limits: DurableQueue.DiagnosisLimits, now: () -> Date
  ) throws -> [Diagnosis] {
    options.check()
    var connecting = PostgresConfiguration(url: url)
    connecting.isPooled = true
    connecting.statementTimeout = options.statementTimeout
    do {
      let connection = try PostgresConnection.connect(connecting)
      defer { connection.close() }
      let store = PostgresStore(
        connecting, place: connection.address.place, options: options, configuration: DurableQueue.Configuration(),
        events: EventHub())
      defer { store.close() }
      return try withoutActuallyEscaping(now) { now in
        try PostgresDoctor(connection: connection, store: store, limits: limits, now: now).diagnose()
      }
    } catch let error as PostgresError {
      throw DatabaseError(error, place: error.place ?? "PostgreSQL")
    }
  }

  private func diagnose() throws -> [Diagnosis] {
    var found: [Diagnosis] = []
    /// Reports a subject that cannot be read as unknown, so that it hides nothing else.
    func look(at subject: String, _ body: () throws -> [Diagnosis]) throws {
      do {
        found += try body()
      } catch {
        if connection.isBroken { throw error }
        let error = (error as? PostgresError).map { DatabaseError($0, place: store.place) } ?? error
        found.append(
          .unknown(
            subject, "The \(subject) could not be seen: \(error)", why: "What is wrong with them would not be told.",
            remedy: "See to what the error says."))
      }
    }
    try look(at: "server", server)
    try look(at: "settings", settings)
    try look(at: "clocks", clocks)
    try look(at: "pooler", pooler)
    try look(at: "connections", connections)
    try look(at: "snapshots", snapshots)
    try look(at: "tables", tables)
    guard try hasTables() else { return found }
    try look(at: "rights", rights)
    try look(at: "plans", plans)
    try look(at: "dead rows", deadRows)
    try look(at: "autovacuum", autovacuum)
    return found
  }

  // MARK: - Questions

  /// The name of the schema, as a value.
  var schemaName: String { store.options.schema }

  /// Asks one question.
  func ask(
    _ sql: String, _ bind: (inout PostgresParameters) throws(PostgresError) -> Void = { _ throws(PostgresError) in }
  ) throws -> PostgresResult {
    var pipeline = PostgresPipeline(.reading)
    pipeline.add(.settingLocally([("search_path", PostgresStore.searchPath)]))
    let position = try pipeline.add(PostgresStatement(sql), bind)
    return try connection.run(pipeline)[position]
  }

  /// Asks one question about the schema, which is `$1`.
  func askOfSchema(_ sql: String) throws -> PostgresResult {
    try ask(sql) { parameters throws(PostgresError) in try parameters.bind(schemaName) }
  }
}
#endif
