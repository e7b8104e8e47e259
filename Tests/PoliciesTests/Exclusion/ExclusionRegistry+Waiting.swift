import TestSupport

@testable import CompositeOperations

extension ExclusionRegistry {
  /// Whether so many come to wait; operations get in line on workers.
  func reaches(waiting count: Int) async -> Bool {
    await Patience.reached { self.waitingCount == count }
  }

  /// Whether it comes to be used, or not.
  func reaches(isUnused: Bool) async -> Bool {
    await Patience.reached { self.isUnused == isUnused }
  }
}
