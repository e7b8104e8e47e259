/// An object to capture: its gate opens when the last reference to it goes.
///
/// A leak test captures a probe in a closure, lets the closure run, and awaits ``released``: a leak
/// hangs visibly, and a thread that holds a reference for a moment longer does not disturb.
/// ``isReleased`` is the same as a plain question.
public final class ReleaseProbe: Sendable {
  /// Opens when the probe is released.
  public let released: Gate

  /// Makes a probe that opens `released` in its `deinit`.
  public init(_ released: Gate) {
    self.released = released
  }

  /// Does nothing: calling it in a closure captures the probe.
  public func touch() {}

  deinit {
    released.open()
  }
}

/// A weak reference that may be read from any thread.
public final class WeakReference<Object: AnyObject>: @unchecked Sendable {  // weak loads are atomic; set once in `init`
  /// The object, or nil once it was released.
  public private(set) weak var object: Object?

  /// Refers to `object` without keeping it.
  public init(_ object: Object) {
    self.object = object
  }
}

/// Waits until the object is released: the thread that used it last may hold it for a moment
/// longer.
///
/// Returns when the test is cancelled too, with the object still there.
public func untilReleased<Object: AnyObject>(_ reference: WeakReference<Object>) async {
  await until(reference.object == nil)
}
