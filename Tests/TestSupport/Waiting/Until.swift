/// Waits until a condition without a callback holds: looks again after others had their turn.
///
/// Also ends when its task is cancelled, as by the time limit of a test, which has then failed.
public func until(
  isolation: isolated (any Actor)? = #isolation, _ condition: @autoclosure () async throws -> Bool
) async rethrows {
  var turns = Turns()
  while try await !condition(), !Task.isCancelled { await turns.next() }
}
