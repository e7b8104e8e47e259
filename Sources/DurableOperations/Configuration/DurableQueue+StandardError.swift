import CompositeOperations

extension DurableQueue {
  /// Writes a line about an event on standard error: what a queue does with those of its ``Configuration/logHandler`` unless it
  /// is told otherwise.
  @Sendable
  public static func writeToStandardError(_ event: JobEvent) {
    Diagnostics.write("DurableOperations: \(HarmlessText.line(event.description))\n")
  }
}
