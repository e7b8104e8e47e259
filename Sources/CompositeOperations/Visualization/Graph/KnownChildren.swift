import Foundation

/// What is known of the operations in a composition, at one moment.
struct KnownChildren {
  /// What the composition waits for before it does something of its own, as `then` and `map` do.
  var upstream: [Operation] = []
  /// What is inside of it.
  var contents: [Operation] = []
  /// How many came before, of which nothing is known any more.
  var earlier = 0
}
