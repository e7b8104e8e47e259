import Foundation

/// What is known of the operations in a composition, at one moment.
package struct KnownChildren {
  /// What the composition waits for before it does something of its own, as `then` and `map` do.
  package var upstream: [Operation] = []
  /// What is inside of it.
  package var contents: [Operation] = []
  /// How many came before, of which nothing is known any more.
  package var earlier = 0
  /// What all of them are called, also those that have not been made, where that is known and one comes after the other.
  package var plan: Plan?

  package init(upstream: [Operation] = [], contents: [Operation] = [], earlier: Int = 0) {
    self.upstream = upstream
    self.contents = contents
    self.earlier = earlier
  }

  package struct Plan {
    package var names: [String]
    /// The one that did not succeed, after which there will be none.
    package var ended: (index: Int, hasFailed: Bool)?
  }
}
