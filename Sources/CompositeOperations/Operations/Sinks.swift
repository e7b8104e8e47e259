// The receivers of an operation's events, as the operation sees them. They are made for the first
// observer, and when progress is first read.

/// Notifies the observers: an ``ObserverHub``.
protocol EventSink: AnyObject, Sendable {
  /// Posts an event. May be called inside the operation's lock. Returns itself if the caller must
  /// call ``deliver()`` outside, and nil if another thread delivers.
  func posting(_ event: OperationEvent) -> (any EventSink)?

  func postProgress(_ fraction: Double)

  /// Posts the outcome, and delivers.
  ///
  /// - Parameter proceed: called after all observers were, perhaps by another thread that is
  ///   delivering.
  func settle(_ outcome: Outcome<any Sendable>, _ proceed: @escaping @Sendable () -> Void)

  /// Delivers all events, also those that come meanwhile. Called as `posting` demands, under no
  /// lock.
  func deliver()
}

/// Counts the progress: a ``ProgressNode``.
protocol ProgressSink: AnyObject, Sendable {
  /// Called when the count of a driver may have changed.
  func compositionDidChange()

  func ownerDidSettle(succeeded: Bool)

  /// Called when the operation is released without having settled.
  func ownerWasReleased()
}
