import Testing

extension Trait where Self == TimeLimitTrait {
  /// Ends a test that hangs.
  ///
  /// Not a measure of what a test takes. All of them share the machine's processors, so one that
  /// needs a millisecond ends, as long as the stress tests run, after half a minute on two quiet
  /// ones, and after more than ten where other programs run too or under ThreadSanitizer. A limit
  /// that is near to that fails tests for what others do.
  static var hangLimit: Self { .timeLimit(.minutes(30)) }
}
