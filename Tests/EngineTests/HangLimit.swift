import Testing

extension Trait where Self == TimeLimitTrait {
  /// Ends a test that hangs.
  ///
  /// Not a measure of a test's time. All tests share the processors: while the stress tests run, a
  /// test that needs a millisecond ends after half a minute on two idle processors, and after more
  /// than ten minutes on a busy machine or under ThreadSanitizer. A tighter limit would fail tests
  /// because of others.
  static var hangLimit: Self { .timeLimit(.minutes(30)) }
}
