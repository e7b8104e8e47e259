import CompositeOperations
import Foundation

/// When operations ran, how they ended, and which were parts of which: a value, made by
/// ``TimelineRecorder``.
///
/// ```swift
/// let recorder = TimelineRecorder()
/// recorder.attach(to: import)
/// try await import.run()
/// try recorder.timeline.html().write(toFile: "import.html", atomically: true, encoding: .utf8)
/// ```
///
/// All times are durations since the recorder was made. All drawings are made from this value, so
/// it may have any entries: only the interesting ones, for example.
public struct Timeline: Sendable, Equatable {
  /// The entries, in the order in which their operations became known; a parent stands before its
  /// children.
  ///
  /// Numbers should differ. If two entries have the same number, or parents form a circle, each
  /// entry is still drawn once. The later ones of a number, and one of the circle, are then drawn
  /// as if they had no parent.
  public var entries: [Entry]

  /// When the snapshot was made, which is the end of entries that have not settled.
  public var end: Duration

  /// Makes a timeline.
  ///
  /// - Parameters:
  ///   - entries: what ran.
  ///   - end: when the snapshot was made; nil for the last instant of all entries.
  package init(entries: [Entry], end: Duration? = nil) {
    self.entries = entries
    self.end = end ?? entries.map(\.lastInstant).max() ?? .zero
  }

  /// When the first entry became known.
  package var start: Duration { entries.map(\.queued).min() ?? .zero }
}

extension Timeline {
  /// What is known of one operation.
  public struct Entry: Sendable, Equatable, Identifiable {
    /// A number that no other entry of the timeline has.
    public var id: Int
    /// The entry of the composition that ran the operation; nil for an operation that the recorder
    /// was attached to.
    public var parent: Int?
    /// The operation's name, if it had one.
    public var name: String?
    /// The operation's type.
    public var type: String
    /// What the operation is: one unit of work, or which kind of composition.
    public var kind: Kind
    /// When the composition around it took it over, or the recorder was attached to it.
    public var queued: Duration
    /// When it started; nil if it has not, or settled without starting.
    public var started: Duration?
    /// When it settled; nil if it has not.
    public var settled: Duration?
    /// How it ended; nil if it has not settled.
    public var ending: Ending?
    /// The thread that started it.
    package var thread: Thread?
    /// Which attempt at the same work it was, from 1.
    public var attempt: Int
    /// Its place among its parent's children, or the number by which the parent knows it.
    package var tag: Int

    /// Makes an entry.
    ///
    /// - Parameters:
    ///   - id: a number that no other entry has.
    ///   - parent: the number of the entry around it.
    ///   - name: its name, if it has one.
    ///   - type: its type.
    ///   - kind: what it is.
    ///   - queued: when it became known.
    ///   - started: when it was started.
    ///   - settled: when it had settled.
    ///   - ending: how it ended.
    ///   - thread: the thread that started it.
    ///   - attempt: which attempt it was.
    ///   - tag: its place among its siblings.
    package init(
      id: Int, parent: Int? = nil, name: String? = nil, type: String = "Operation", kind: Kind = .operation,
      queued: Duration = .zero, started: Duration? = nil, settled: Duration? = nil, ending: Ending? = nil,
      thread: Thread? = nil, attempt: Int = 1, tag: Int = 0
    ) {
      self.id = id
      self.parent = parent
      self.name = name
      self.type = type
      self.kind = kind
      self.queued = queued
      self.started = started
      self.settled = settled
      self.ending = ending
      self.thread = thread
      self.attempt = attempt
      self.tag = tag
    }

    /// The title to show: the name, or else the kind or type.
    public var title: String {
      if let name, !name.isEmpty { return name }
      return kind.isUnit ? type : kind.rawValue
    }

    /// The title, with the kind if it is a wrapper, which mostly has the name of what it wraps.
    var titleWithKind: String { kind.isWrapper && title != kind.rawValue ? "\(title) (\(kind.rawValue))" : title }

    var lastInstant: Duration { settled ?? started ?? queued }
  }

  /// How an operation ended.
  public enum Ending: Sendable, Equatable {
    /// It succeeded.
    case success
    /// It failed, with an error of this text.
    case failure(message: String)
    /// It was cancelled.
    case cancelled
  }

  /// A thread on which operations were started.
  package struct Thread: Sendable, Hashable, Codable {
    /// A number for this timeline, from 1.
    package var number: Int
    /// The thread's name, or `thread` and the number.
    package var name: String

    /// Makes a thread.
    ///
    /// - Parameters:
    ///   - number: its number, from 1.
    ///   - name: its name; nil for `thread` and the number.
    package init(number: Int, name: String? = nil) {
      self.number = number
      self.name = name ?? "thread \(number)"
    }
  }
}
