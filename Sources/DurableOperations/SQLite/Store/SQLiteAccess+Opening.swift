import Foundation

extension SQLiteAccess {
  /// Opens a file, or makes it, for writing and reading at the same time; a database in memory has
  /// one connection for both.
  static func open(
    _ location: DurableQueue.Location, _ configuration: DurableQueue.Configuration, _ events: EventHub
  ) throws -> (writer: SQLiteAccess, reader: SQLiteAccess) {
    switch location {
    case .readOnlyFile(let url):
      try location.prepareFile(at: url, access: configuration.fileAccess)
      let database = try SQLiteAccess(
        path: url.path, configuration: configuration, events: events, label: url.lastPathComponent, mustExist: true,
        isReadOnly: true)
      return (database, database)
    case .file(let url), .existingFile(let url):
      try location.prepareFile(at: url, access: configuration.fileAccess)
      let name = url.lastPathComponent
      let mustExist = location == .existingFile(url)
      let writer = try SQLiteAccess(
        path: url.path, configuration: configuration, events: events, label: name, mustExist: mustExist)
      let reader = try SQLiteAccess(
        path: url.path, configuration: configuration, events: events, label: "\(name).reader", mustExist: true,
        besides: writer)
      if !mustExist { configuration.protectFiles(of: url.path) }
      return (writer, reader)
    // In memory: no other location is SQLite's.
    default:
      let database = try SQLiteAccess(
        path: ":memory:", configuration: configuration, events: events, label: "memory")
      return (database, database)
    }
  }
}
