/// Which process this is, such that another one, or a later one, can tell whether it is still there.
///
/// A process id alone does not say it: ids are used again, each container counts its own, and a database file may be seen
/// from several machines.
package struct ProcessIdentity: Sendable, Equatable {
  /// What is known about the process from outside.
  enum Liveness: Sendable, Equatable {
    /// It is there.
    case alive
    /// It is not, for sure: it cannot do anything any more.
    case dead
    /// Nobody can tell from here.
    case unknown
  }

  /// The start of the machine that the process belongs to. Empty if it could not be read.
  package var bootID: String
  /// Among which processes its id is unique; empty on platforms where that is all of the machine, nil if it could not be
  /// read.
  var pidNamespace: String?
  /// The name of the machine, or of the container. Empty if it could not be read.
  package var hostName: String
  var processID: Int64
  /// When it started, in units of the platform's. Zero if it could not be read.
  var startTime: Int64

  /// This process, as it was when this was first read. Not meant for a process that goes on after a fork.
  package static let current = ProcessIdentity.readCurrent()

  /// Whether the process is there, as far as it can be told by another one.
  ///
  /// - Parameter observer: who asks; the calling process.
  /// - Returns: `.dead` and `.alive` only if both are of the same boot, namespace and host.
  func liveness(seenFrom observer: ProcessIdentity = .current) -> Liveness {
    guard isNeighbour(of: observer) else { return .unknown }
    switch ProcessStatus.of(processID) {
    case .absent, .ended:
      return .dead
    case .running(let startTime):
      // Without both times it could be another process that has the id now.
      guard self.startTime != 0, startTime != 0 else { return .unknown }
      return startTime == self.startTime ? .alive : .dead
    case .unreadable:
      return .unknown
    }
  }

  /// Whether both are known to be of the same boot, namespace and host.
  func isNeighbour(of other: ProcessIdentity) -> Bool {
    isComplete && bootID == other.bootID && pidNamespace == other.pidNamespace && hostName == other.hostName
  }

  private var isComplete: Bool {
    // Ids from 0 down mean groups of processes to the system.
    !bootID.isEmpty && pidNamespace != nil && !hostName.isEmpty && processID > 0
  }
}

/// What the system says about a process id.
enum ProcessStatus: Sendable, Equatable {
  /// No process has it.
  case absent
  /// The process has ended, and its parent has not asked for its exit status yet.
  case ended
  /// A process has it. Zero if its start could not be read.
  case running(startTime: Int64)
  /// Who asks may not know.
  case unreadable
}
