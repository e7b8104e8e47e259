/// A kind of operation, for errors, telemetry and timelines, which show its word.
package enum OperationKind: String, Sendable {
  // Compositions.
  case parallel, sequence, graph, then, map, mapAsync, recover, settled, asSimpleOperation, pipeline, queue
  case zip, all, allSettled, firstSuccess, forEach
  // Policies.
  case timeout, retry, repeating, hedged, condition, exclusive, limited, guarded
  /// The operations that run before conditions are evaluated.
  case prerequisites
  /// A part of a policy without work of its own: it waits for a dependency, a category, a limit or
  /// a time, evaluates conditions, or decides about another attempt.
  case wait
}
