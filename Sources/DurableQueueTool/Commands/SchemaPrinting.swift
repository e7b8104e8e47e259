import DurableOperations

extension SchemaScript {
  /// The whole script, for `psql`.
  var text: String {
    get throws {
      #if os(macOS) || os(Linux)
      DurableQueue.schemaScript(schema: schema, role: role)
      #else
      throw QueuePlace.noServers
      #endif
    }
  }
}
