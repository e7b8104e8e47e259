import CompositeOperations
import Foundation

/// Records what runs inside of operations: what was queued, started and settled when, on which thread, and how it ended.
///
/// ```swift
/// let recorder = TimelineRecorder()
/// recorder.attach(to: backup)
/// try await backup.run()
/// print(recorder.timeline.textTree())
/// ```
///
/// It records the operations that it is attached to and all that run in them, however deep: in composites, in typed
/// compositions, in policies and workflows, and plain operations. It changes nothing in how these run, and is meant to be
/// left on: an operation costs it about a tenth of a microsecond and 64 bytes, and more only if it has a name or fails.
///
/// A recorder may be used from any thread, and by any number of operations. What it records it keeps as long as it is
/// there; it retains no operation that has settled, and composites only weakly. A plain operation that it is attached to
/// is retained until it has finished.
///
/// An operation that several compositions wait for stands in each of them. What is inside of it stands where it was
/// recorded first.
public final class TimelineRecorder: Sendable {
  private let core: RecorderCore

  /// Makes a recorder. Its time begins now.
  ///
  /// - Parameter clock: what the instants are read from. The default is read several times faster than any other.
  public init(clock: some Clock<Duration> = ContinuousClock()) {
    core = RecorderCore(clock)
  }

  /// Records an operation, and all that runs inside of it, from now on.
  ///
  /// Attach it before the operation starts. If it is under way already, what is still to come is recorded: what runs at
  /// this moment counts as started now, and what has settled is missing. Attaching to an operation that is recorded
  /// already, by itself or as a part of another, changes nothing, if it is a composition.
  ///
  /// Of a plain operation that is attached by itself, Foundation tells only the end: it counts as started when it was
  /// attached.
  ///
  /// - Parameter operation: any operation. It is not started.
  public func attach(to operation: Operation) {
    core.attach(operation)
  }

  /// What has been recorded so far. May be read at any moment, also while operations run.
  ///
  /// Everything that began before the reading is in it; entries that had not settled end with the timeline. Each reading
  /// makes the value anew, which takes about a microsecond for each entry.
  public var timeline: Timeline { core.timeline() }
}
