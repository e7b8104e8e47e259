public import Foundation

/// A process that runs jobs, or did until a while ago: what is stored of it, read when it was asked for. See
/// `workers()` of ``DurableQueue``.
public struct JobWorker: Sendable, Hashable, Identifiable {
  /// What is known of a process.
  public struct Liveness: RawRepresentable, Sendable, Hashable {
    /// The process runs.
    public static let alive = Liveness(value: .alive)
    /// The process has ended. Another process takes its jobs over when it next looks.
    public static let dead = Liveness(value: .dead)
    /// This machine cannot tell: the process belongs to another machine or container. Its lease tells.
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
  public struct RunningJob: Sendable, Hashable, Identifiable {
    /// The job's number.
    public let id: JobID
    /// Its kind.
    public let kind: String
    /// When this attempt started, by the clock of the store; nil if that is not stored.
    public let startedAt: Date?
  }

  /// Its number. A process that joins anew gets another one.
  public let id: Int64
  /// The name of its machine, or of its container; nil where it could not be read, and on Apple's platforms, where the name
  /// changes with the network.
  public let hostName: String?
  /// What its system calls it: unique on its machine, or in its container, as long as it is there.
  public let processID: Int64
  /// Whether the process is one of this machine's, or of this container's, since its last start.
  public let isOnThisMachine: Bool
  /// Whether the process is there, as far as that can be told from here.
  public let liveness: Liveness
  /// When its lease ends unless the process prolongs it, by the clock of the store: that of the server, or this machine's for a
  /// file. The jobs of a process whose lease is over are taken over.
  public let leaseEnd: Date
  /// How long its lease goes on, by the same clock when this was read; negative if the lease is over.
  public let leaseLeft: Duration
  /// The jobs that it executes, in the order of their numbers.
  public let jobs: [RunningJob]
}
