// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Put into the core of the package by simulate-darwin if it runs the branches for Linux: the
// program finds what it asks for, and nothing is observed.
import Foundation

public enum DarwinSimulation {
  public static let isDarwin = false
  public static var pool: Int? { nil }

  public final class Observer: Sendable {
    public let changes: [String] = []
  }

  public static func observe(_ operation: Operation) -> Observer { Observer() }
  public static func stopObserving(_ operation: Operation) {}
}
