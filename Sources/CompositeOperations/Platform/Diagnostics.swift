import Foundation

/// A place in the user's source.
struct SourceLocation {
  let fileID: StaticString
  let line: UInt
}

/// Writes diagnoses that no caller is left to receive as an error.
package enum Diagnostics {
  /// Writes with the throwing method: the other one traps when the pipe is closed, and a diagnosis
  /// must not end the program.
  @Sendable
  package static func write(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
  }
}

/// Traps with a message if the program made a mistake.
///
/// Not a precondition, whose message is omitted in release builds.
@inline(__always)
package func require(_ isRight: Bool, _ mistake: @autoclosure () -> String) {
  if !isRight { fatalError(mistake()) }
}

/// Traps if a closure's value type is an operation, or an optional or an array of them, which would
/// never run.
@inline(__always)
package func requireValue<Value>(_ type: Value.Type, of form: StaticString) {
  require(
    !consistsOfOperations(Value.self),
    "\(form) got a closure whose value is an operation, or holds some (\(Value.self)), which would never run. Use "
      + "then(_:), which runs the operation that its closure returns; all(_:) makes one of several.")
}
