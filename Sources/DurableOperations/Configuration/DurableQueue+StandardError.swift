import CompositeOperations

extension DurableQueue {
  /// Writes a line about an event to standard error: the default ``Configuration/logHandler`` of a
  /// queue.
  @Sendable
  package static func writeToStandardError(_ event: JobEvent) {
    Diagnostics.write("DurableOperations: \(HarmlessText.line(event.description))\n")
  }
}
