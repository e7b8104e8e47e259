extension DurableQueue {
  /// The kinds that have jobs, or had some, or that a program has registered. For the tool: another one may be misspelt.
  package func knownKinds() throws -> [String] {
    try core.reader.sync { try $0.knownKinds() }
  }

  /// How many bytes the jobs take, with all that is stored beside them.
  package func storedSize() throws -> Int {
    try core.reader.sync { try $0.size() }
  }
}
