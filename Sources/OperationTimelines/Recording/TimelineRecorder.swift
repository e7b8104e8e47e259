import CompositeOperations
import Foundation

/// Records what runs inside of operations: when each was queued, started and settled, on which
/// thread, and how it ended.
///
/// ```swift
/// let recorder = TimelineRecorder()
/// recorder.attach(to: backup)
/// try await backup.run()
/// print(recorder.timeline.textTree())
/// ```
///
/// It records the operations that it is attached to, and all operations that run in them at any
/// depth: in composites, typed compositions, policies and workflows, and plain operations. It does
/// not change how they run, and may stay on: an operation costs about a tenth of a microsecond and
/// 64 bytes, and more only if it has a name or fails.
///
/// A recorder may be used from any thread, and for any number of operations. It keeps its recording
/// as long as it exists. It retains no operation that has settled, and composites only weakly. It
/// retains a plain operation that it is attached to until that has finished.
///
/// An operation that several compositions wait for has an entry in each of them. Its contents have
/// entries where they were recorded first.
public final class TimelineRecorder: Sendable {
  private let core: RecorderCore

  /// Makes a recorder. Its time begins now.
  ///
  /// - Parameter clock: tells the instants. Reading the default clock is several times faster than
  ///   reading any other.
  public init(clock: some Clock<Duration> = ContinuousClock()) {
    core = RecorderCore(clock)
  }

  /// Records an operation, and everything that runs inside of it, from now on.
  ///
  /// Attach the recorder before the operation starts. If the operation is under way, the rest is
  /// recorded: what runs at this moment counts as started now, and what has settled is missing. If
  /// the operation is a composition that is recorded already, by itself or as a part of another,
  /// this changes nothing.
  ///
  /// Foundation reports only the end of a plain operation. If the recorder is attached to one, it
  /// counts as started now.
  ///
  /// - Parameter operation: any operation. It is not started.
  public func attach(to operation: Operation) {
    core.attach(operation)
  }

  /// The recording so far. May be read at any moment, also while operations run.
  ///
  /// It has everything that began before the reading. Entries that had not settled end with the
  /// timeline. Each reading makes a new value, which takes about a microsecond for each entry.
  public var timeline: Timeline { core.timeline() }
}
