import Foundation

/// A token that removes an observer of an operation, or a telemetry sink.
///
/// The token keeps neither the operation nor the observer alive. Releasing the token does not
/// remove the observer. The observer is removed when the operation has settled, or when the
/// reporting object is released.
public final class ObservationToken: @unchecked Sendable {  // set once in `init`; weak loads are atomic
  private weak var hub: ObserverHub?
  private weak var record: ObserverRecord?
  /// Removes the sink; nil for an observer.
  private let removal: (@Sendable () -> Void)?

  /// Stands for a sink.
  ///
  /// - Parameter removal: removes the sink. May be called any number of times. Keeps neither the
  ///   sink nor the reporting object alive.
  package init(_ removal: @escaping @Sendable () -> Void) { self.removal = removal }

  init(_ record: ObserverRecord? = nil, in hub: ObserverHub? = nil) {
    self.record = record
    self.hub = hub
    removal = nil
  }

  /// Removes the observer, and releases it unless it is being called.
  ///
  /// No call of the observer begins after this returns. A call that began on another thread may
  /// still run. Events that wait for the observer's queue are dropped. May be called at any time,
  /// on any thread, also by the observer itself. Removing the observer again, or after the
  /// operation has settled, does nothing.
  public func remove() {
    removal?()
    guard let record else { return }
    record.end()
    hub?.remove(record)
  }
}
