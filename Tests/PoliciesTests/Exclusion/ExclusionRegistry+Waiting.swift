import TestSupport

@testable import CompositeOperations

extension ExclusionRegistry {
  /// Whether this many operations come to wait; they join the line on workers.
  func reaches(waiting count: Int) async -> Bool {
    await Patience.reached { self.waitingCount == count }
  }

  /// Whether it becomes used or unused.
  func reaches(isUnused: Bool) async -> Bool {
    await Patience.reached { self.isUnused == isUnused }
  }
}
