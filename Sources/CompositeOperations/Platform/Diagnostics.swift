import Foundation

/// A place in the user's source.
struct SourceLocation {
  let fileID: StaticString
  let line: UInt
}

/// Says what is wrong but cannot be an error, because no one is left to give it to.
package enum Diagnostics {
  #if DEBUG
  /// An operation can no longer settle: nothing holds it, and it was executing.
  static func reportReleasedWhileExecuting(_ operation: SettlingOperation, madeAt origin: SourceLocation?) {
    let place = origin.map { ", made at \($0.fileID):\($0.line)," } ?? ""
    let message = """
      CompositeOperations: \(OperationError.describe(operation))\(place) was released while it was executing, so it \
      will never settle. Keep it alive until it has settled: capture it in the callback that ends the work, or run \
      it in an OperationQueue or a composite.

      """
    write(message)
  }
  #endif

  /// Not the form that traps when nobody listens: a diagnosis must not end the program.
  @Sendable
  package static func write(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
  }
}

/// Traps, with the sentence, if the program made a mistake.
///
/// Not a precondition, whose sentence is left out of release builds.
@inline(__always)
package func require(_ isRight: Bool, _ mistake: @autoclosure () -> String) {
  if !isRight { fatalError(mistake()) }
}

/// Traps if a closure's value type is an operation, or an optional or an array of them: they would be values, and never
/// run.
@inline(__always)
package func requireValue<Value>(_ type: Value.Type, of form: StaticString) {
  require(
    !consistsOfOperations(Value.self),
    "\(form) got a closure whose value is an operation, or holds some (\(Value.self)), which would never run. Use "
      + "then(_:), which runs the operation that its closure returns; all(_:) makes one of several.")
}
