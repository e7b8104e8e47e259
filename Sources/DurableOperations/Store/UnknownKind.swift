/// A kind that is not registered here, with jobs that are due.
struct UnknownKind: Sendable {
  let id: Int64
  let name: String
  /// When a process that knows it was last there.
  let knownAt: Int64
}
