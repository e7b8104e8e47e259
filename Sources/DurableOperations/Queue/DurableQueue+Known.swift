extension DurableQueue {
  /// The kinds that have jobs, or had some, or that a program has registered. For the tool: another one may be misspelt.
  package func knownKinds() throws -> [String] {
    try core.reader.sync { store in
      var names: [String] = []
      try store.statement("SELECT name FROM durable_kinds ORDER BY name").forEachRow { names.append($0.text(0) ?? "") }
      return names
    }
  }
}
