import Foundation
import TestSupport

@testable import CompositeOperations

/// A composition of work whose pieces are closures, which counts the requests.
final class ScriptedForm: Composition, @unchecked Sendable {  // the pieces are locked, the rest is immutable
  typealias Piece = @Sendable (ScriptedForm, any WorkSlot, ThreadContext) -> WorkResult

  private let pieces: Locked<[Piece]>
  /// How often it was asked for a piece, also in vain.
  let asked = Locked(0)
  /// How often it was asked in vain.
  let askedInVain = EventRecorder<Int>()

  init(_ pieces: [Piece] = []) {
    self.pieces = Locked(pieces.reversed())
    super.init(.graph, .tags, [])
  }

  func add(_ piece: @escaping Piece) {
    pieces.withLock { $0.insert(piece, at: 0) }
  }

  override func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    let number = asked.increment()
    guard let piece = pieces.withLock({ $0.popLast() }) else {
      askedInVain.record(number)
      return .nothing
    }
    return piece(self, slot, context)
  }

  override func operationDidSettle(_ operation: Operation, tag: Int) {}
}
