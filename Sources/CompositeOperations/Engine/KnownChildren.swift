import Foundation

/// A snapshot of the operations in a composition.
package struct KnownChildren {
  /// What the composition waits for before its own work, as `then` and `map` do.
  package var upstream: [Operation] = []
  /// The operations inside it.
  package var contents: [Operation] = []
  /// How many earlier children there were, which are no longer kept.
  package var earlier = 0
  /// The names of all steps of a sequence, also of those not yet made; nil if unknown.
  package var plan: Plan?

  package init(upstream: [Operation] = [], contents: [Operation] = [], earlier: Int = 0) {
    self.upstream = upstream
    self.contents = contents
    self.earlier = earlier
  }

  package struct Plan {
    package var names: [String]
    /// The step that did not succeed, which is the last one.
    package var ended: (index: Int, hasFailed: Bool)?
  }
}
