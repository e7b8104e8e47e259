extension DurableQueue.Location {
  /// Opens the location for writing and for reading.
  func openStore(
    _ configuration: DurableQueue.Configuration, _ events: EventHub
  ) throws -> (writer: any StoreAccess, reader: any StoreAccess) {
    switch self {
    case .file, .existingFile, .readOnlyFile, .memory: return try SQLiteAccess.open(self, configuration, events)
    #if os(macOS) || os(Linux)
    case .postgres(let url, let options):
      let access = try PostgresAccess.open(url, options, mustExist: false, configuration, events)
      return (access, access)
    case .existingPostgres(let url, let options):
      let access = try PostgresAccess.open(url, options, mustExist: true, configuration, events)
      return (access, access)
    #endif
    }
  }
}
