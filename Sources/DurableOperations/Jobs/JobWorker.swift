package import Foundation

/// A process that runs jobs, or did until recently: a snapshot of its stored state. See `workers()`
/// of ``DurableQueue``.
public struct JobWorker: Sendable, Hashable, Identifiable {
  /// Whether a process runs.
  public struct Liveness: RawRepresentable, Sendable, Hashable {
    /// The process runs.
    public static let alive = Liveness(value: .alive)
    /// The process has ended. Another process takes its jobs over when it next looks.
    public static let dead = Liveness(value: .dead)
    /// This machine cannot tell: the process belongs to another machine or container. Its lease
    /// tells.
    public static let unknown = Liveness(value: .unknown)

    /// The choice with a name; nil for an unknown one.
    public init?(rawValue: String) {
      guard let value = Value(rawValue: rawValue) else { return nil }
      self.init(value: value)
    }

    private init(value: Value) {
      self.value = value
    }

    /// The name, such as `alive`.
    public var rawValue: String { value.rawValue }

    enum Value: String { case alive, dead, unknown }

    let value: Value
  }

  /// A job that executes.
  package struct RunningJob: Sendable, Hashable, Identifiable {
    /// The job's number.
    package let id: JobID
    /// Its kind.
    package let kind: String
    /// When this attempt started, by the clock of the store; nil if that is not stored.
    package let startedAt: Date?
  }

  /// Its number. A process that joins again gets another one.
  public let id: Int64
  /// The name of its machine or container; nil where it could not be read, and on Apple's
  /// platforms, where the name changes with the network.
  public let hostName: String?
  /// Its process identifier: unique on its machine, or in its container, while it runs.
  public let processID: Int64
  /// Whether the process belongs to this machine or container, since its last start.
  package let isOnThisMachine: Bool
  /// Whether the process runs, as far as this machine can tell.
  public let liveness: Liveness
  /// When its lease ends unless the process renews it, by the clock of the store.
  package let leaseEnd: Date
  /// How long its lease still lasted when this was read, unless the process renews it, by the clock
  /// of the store: the server's, or for a file this machine's. Negative if it was over. Other
  /// processes take over the jobs of a process whose lease is over.
  public let leaseLeft: Duration
  /// The jobs that it executes, in the order of their numbers.
  package let runningJobs: [RunningJob]

  /// The numbers of the jobs that it executes, in their order.
  public var jobs: [JobID] { runningJobs.map(\.id) }
}
