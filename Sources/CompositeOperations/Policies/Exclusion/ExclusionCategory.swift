/// What only one operation at a time may do, or only a few: see
/// ``ComposableOperation/exclusive(_:in:)-(ExclusionCategory...,_)``.
///
/// Two categories are the same if their names are. A string literal is one.
///
/// ```swift
/// extension ExclusionCategory {
///   static let signIn: Self = "sign-in"
///   static func host(_ name: String) -> Self { Self("host \(name)") }
/// }
/// ```
public struct ExclusionCategory: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// What makes it different from others.
  public let name: String

  /// Makes the category with a name.
  public init(_ name: String) {
    self.name = name
  }

  /// Makes the category with a name.
  public init(stringLiteral name: String) {
    self.name = name
  }

  /// The name, in quotation marks.
  public var description: String { "“\(name)”" }
}
