public import Foundation

/// An error that tests can tell apart from others.
public struct TestError: LocalizedError, Equatable, Hashable, Sendable, CustomStringConvertible {
  /// The name that distinguishes the error.
  public let name: String

  /// Makes the error called `name`.
  public init(_ name: String) {
    self.name = name
  }

  /// The name, in a sentence.
  public var description: String { "test error \(name)" }

  /// The name, in a sentence.
  public var errorDescription: String? { description }

  /// Two ready-made ones.
  public static let first = TestError("first")
  /// Two ready-made ones.
  public static let second = TestError("second")
}
