extension DurableQueue {
  /// The kinds that have or had jobs, or that a program has registered. The tool takes another one
  /// for misspelt.
  package func knownKinds() throws -> [String] {
    try core.reader.sync { try $0.knownKinds() }
  }

  /// How many bytes the jobs take, with everything that is stored beside them.
  package func storedSize() throws -> Int {
    try core.reader.sync { try $0.size() }
  }
}
