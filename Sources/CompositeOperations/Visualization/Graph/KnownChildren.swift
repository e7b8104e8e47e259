import Foundation

/// What is known of the operations in a composition, at one moment.
struct KnownChildren {
  /// What the composition waits for before it does something of its own, as `then` and `map` do.
  var upstream: [Operation] = []
  /// What is inside of it.
  var contents: [Operation] = []
  /// How many came before, of which nothing is known any more.
  var earlier = 0
  /// What all of them are called, also those that have not been made, where that is known and one comes after the other.
  var plan: Plan?

  struct Plan {
    var names: [String]
    /// The one that did not succeed, after which there will be none.
    var ended: (index: Int, ending: OperationState.Ending)?

    /// - Parameter count: how many have begun.
    func state(of index: Int, begun count: Int) -> GraphDescription.State {
      if let ended, ended.index == index { return ended.ending == .failure ? .failed : .cancelled }
      return index < count ? .finished : .pending
    }
  }

  var isWorthDrawing: Bool { !contents.isEmpty || earlier > 0 || plan?.names.isEmpty == false }
}
