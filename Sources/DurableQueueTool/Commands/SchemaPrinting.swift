import DurableOperations

extension SchemaScript {
  /// All of it, for `psql`.
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
