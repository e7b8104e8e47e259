/// A token that removes an observer of an operation, or a telemetry sink.
///
/// The token keeps neither the operation nor the observer alive. Releasing the token does not
/// remove the observer. The observer is removed when the operation has settled, or when the
/// reporting object is released.
public final class ObservationToken: Sendable {
  private let removal: @Sendable () -> Void

  /// - Parameter removal: removes the observer or the sink. May be called any number of times.
  ///   Keeps neither that nor the reporting object alive.
  package init(_ removal: @escaping @Sendable () -> Void) { self.removal = removal }

  /// Removes the observer, and releases it unless it is being called.
  ///
  /// No call of the observer begins after this returns. A call that began on another thread may
  /// still run. Events that wait for the main actor are dropped. May be called at any time, on any
  /// thread, also by the observer itself. Removing the observer again, or after the operation has
  /// settled, does nothing.
  public func remove() {
    removal()
  }
}
