public import Foundation

/// A plain synchronous operation that records `start`, `main` and `cancel`, each with its name in
/// front.
public final class RecordingPlainOperation: Operation, @unchecked Sendable {  // all that is stored is immutable
  private let label: String
  private let recorder: EventRecorder<String>

  /// Makes an operation that records `"<label> start"` and so on in `recorder`.
  public init(_ label: String, recorder: EventRecorder<String>) {
    self.label = label
    self.recorder = recorder
    super.init()
  }

  public override func start() {
    recorder.record("\(label) start")
    super.start()
  }

  public override func main() {
    recorder.record("\(label) main")
  }

  public override func cancel() {
    recorder.record("\(label) cancel")
    super.cancel()
  }
}
