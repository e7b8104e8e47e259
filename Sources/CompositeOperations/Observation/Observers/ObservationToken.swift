import Foundation

/// Stands for one observer of an operation, to remove it again.
///
/// Keeps neither the operation nor the observer alive. Dropping the token does not remove the observer, which goes by
/// itself when the operation has settled.
public final class ObservationToken: @unchecked Sendable {  // set once in `init`; weak loads are atomic
  private weak var hub: ObserverHub?
  private weak var record: ObserverRecord?

  init(_ record: ObserverRecord? = nil, in hub: ObserverHub? = nil) {
    self.record = record
    self.hub = hub
  }

  /// Removes the observer, and releases it unless it is being called.
  ///
  /// When this returns no further call of it begins; one that began on another thread may still be under way. Events that
  /// wait for the observer's queue are dropped. May be called at any moment, from any thread, also by the observer
  /// itself; removing it again, or after the operation settled, does nothing.
  public func remove() {
    guard let record else { return }
    record.end()
    hub?.remove(record)
  }
}
