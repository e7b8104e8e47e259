import Testing

extension Trait where Self == TimeLimitTrait {
  /// Ends a test that hangs. Not a measure of what a test takes on a busy machine.
  static var hangLimit: Self { .timeLimit(.minutes(30)) }
}
