import Testing

@testable import CompositeOperations

/// The progress of a composition, computed from what is told of its children in any order.
@Suite("8 ProgressState")
struct ProgressStateTests {
  @Test("What a driven child reports counts from when it was added until it has settled, and not when it comes later")
  func advanced_drivenChildHasSettled_doesNotCount() {
    var progress = ProgressState(shape: .driven((done: 0, total: 8)))
    _ = progress.complete()
    _ = progress.added(1, weight: 1)
    _ = progress.added(2, weight: 1)
    _ = progress.advanced(1, to: 0.5)
    // What is told again changes nothing.
    _ = progress.added(1, weight: 1)
    #expect(progress.fraction == 0.0625)
    _ = progress.changeShape(.driven((done: 1, total: 8)))
    _ = progress.settled(1, as: .success)
    let fraction = progress.fraction
    let changes = progress.advanced(1, to: 0.75)
    #expect(!changes && progress.fraction == fraction)
    _ = progress.advanced(2, to: 1)
    #expect(progress.fraction == 0.25)
  }

  @Test("A driven child that settles while the first children are being read does not count when it is read")
  func added_drivenChildHasSettledBefore_doesNotCount() {
    var progress = ProgressState(shape: .driven((done: 0, total: 8)))
    _ = progress.settled(1, as: .cancelled)
    _ = progress.added(1, weight: 1)
    _ = progress.advanced(1, to: 0.5)
    _ = progress.complete()
    _ = progress.advanced(1, to: 0.75)
    #expect(progress.fraction == 0)
  }
}
