/// A name for what only one operation, or only a few, may do at the same time: see
/// ``ComposableOperation/exclusive(_:in:)-(ExclusionCategory...,_)``.
///
/// Two categories with the same name are the same. A string literal can stand for a category.
///
/// ```swift
/// extension ExclusionCategory {
///   static let signIn: Self = "sign-in"
///   static func host(_ name: String) -> Self { Self("host \(name)") }
/// }
/// ```
public struct ExclusionCategory: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name.
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
