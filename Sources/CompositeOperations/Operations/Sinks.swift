// Who is told what happens to an operation, as the operation knows them. They are made for the first observer, and when progress is first asked for.

/// Tells the observers: an ``ObserverHub``.
protocol EventSink: AnyObject, Sendable {
  /// Puts an event into the mailbox. May be called inside the operation's lock. Returns itself if the caller has to call
  /// ``deliver()`` outside, and nil if another thread delivers.
  func posting(_ event: OperationEvent) -> (any EventSink)?

  func postProgress(_ fraction: Double)

  /// The operation has settled.
  ///
  /// - Parameter proceed: called when all observers have been told, perhaps by another thread that is just telling them.
  func settle(_ outcome: Outcome<any Sendable>, _ proceed: @escaping @Sendable () -> Void)

  /// Delivers everything there is, also what comes meanwhile. Called by whom posting has told to, and under no lock.
  func deliver()
}

/// Knows how far the operation is: a ``ProgressNode``.
protocol ProgressSink: AnyObject, Sendable {
  /// What a driver counts may have changed.
  func sourceDidChange()

  func ownerDidSettle(succeeded: Bool)
}
