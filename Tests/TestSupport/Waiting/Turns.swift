import Dispatch

/// What a loop does that waits for something without a callback: between two looks it gives others
/// their turn.
///
/// Most of what tests wait for so comes within some turns. After these the loop looks only each
/// millisecond, and later more seldom: a process, a server or a disk takes its time, and loops that
/// never pause would take the processor from it, and from the tests beside them.
public struct Turns: Sendable {
  private var taken = 0

  /// Makes the turns of one loop.
  public init() {}

  /// Returns after others had their turn.
  public mutating func next() async {
    taken += 1
    guard let pause else { return await Task.yield() }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().asyncAfter(deadline: .now() + pause) { continuation.resume() }
    }
  }

  /// The same for a loop on a thread that may block.
  @available(*, noasync)
  public mutating func nextBlocking() {
    taken += 1
    let turn = Gate()
    DispatchQueue.global().asyncAfter(deadline: .now() + (pause ?? .nanoseconds(0))) { turn.open() }
    turn.waitBlocking()
  }

  private var pause: DispatchTimeInterval? {
    switch taken {
    case ...100: nil
    case ...200: .milliseconds(1)
    default: .milliseconds(5)
    }
  }
}
