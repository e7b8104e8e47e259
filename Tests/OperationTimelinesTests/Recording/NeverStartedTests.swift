import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing

@Suite("Timelines: operations that never started", .hangLimit)
struct NeverStartedTests {
  enum Form: CaseIterable {
    case leaf, plain, composition

    func make() -> Operation {
      switch self {
      case .leaf: succeeding(1)
      case .plain: BlockOperation {}
      case .composition: succeeding(1).map { $0 }
      }
    }
  }

  @Test(arguments: Form.allCases, [false, true])
  func child_cancelledBeforeTheCompositeStarted_isNotRecordedAsStarted(_ form: Form, inSequence: Bool) async throws {
    let skipped = form.make()
    skipped.name = "skipped"
    let composite =
      inSequence
      ? CompositeOperation(sequence: LinearSequence({ _ in skipped }))
      : CompositeOperation(operations: [succeeding(1, named: "other"), skipped])
    let recorder = TimelineRecorder()
    recorder.attach(to: composite)
    skipped.cancel()
    #expect(await outcomeOfStarting(composite).isCancelled)
    let entry = try #require(recorder.timeline.entries.first { $0.name == "skipped" })
    #expect(entry.started == nil && entry.settled != nil && entry.ending == .cancelled)
    #expect(recorder.timeline.textTree().contains("never started"))
  }
}
