/// Waits until something holds that tells nobody when it begins to: asks again each time that other
/// tasks had their turn.
///
/// Ends when its task is cancelled, too, as by the time limit of a test, which has failed then.
public func until(
  isolation: isolated (any Actor)? = #isolation, _ condition: @autoclosure () async throws -> Bool
) async rethrows {
  while try await !condition(), !Task.isCancelled { await Task.yield() }
}
