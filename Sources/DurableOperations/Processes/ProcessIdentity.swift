/// The identity of a process, by which another process, or a later one, can tell whether it still
/// runs.
///
/// A process id alone is not enough: ids are reused, each container counts its own, and several
/// machines may see one database file.
package struct ProcessIdentity: Sendable, Equatable {
  /// What other processes know about it.
  enum Liveness: Sendable, Equatable {
    /// The process runs.
    case alive
    /// The process has certainly ended.
    case dead
    /// Unknown from here.
    case unknown
  }

  /// The start of the machine that the process belongs to. Empty if it could not be read.
  package var bootID: String
  /// The namespace in which its id is unique; empty on platforms without namespaces, nil if it
  /// could not be read.
  var pidNamespace: String?
  /// The name of the machine, or of the container. Empty if it could not be read.
  package var hostName: String
  var processID: Int64
  /// When it started, in units of the platform. Zero if it could not be read.
  var startTime: Int64

  /// This process at the first use of this property. Not valid after a fork.
  package static let current = ProcessIdentity.readCurrent()

  /// Whether the process runs, as far as another one can tell.
  ///
  /// - Parameter observer: the process that asks; by default the calling one.
  /// - Returns: `.dead` and `.alive` only if both belong to the same boot, namespace and host.
  func liveness(seenFrom observer: ProcessIdentity = .current) -> Liveness {
    guard isNeighbour(of: observer) else { return .unknown }
    switch ProcessStatus.of(processID) {
    case .absent, .ended:
      return .dead
    case .running(let startTime):
      // Without both times, another process may have the id now.
      guard self.startTime != 0, startTime != 0 else { return .unknown }
      return startTime == self.startTime ? .alive : .dead
    case .unreadable:
      return .unknown
    }
  }

  /// Whether both certainly belong to the same boot, namespace and host.
  func isNeighbour(of other: ProcessIdentity) -> Bool {
    isComplete && bootID == other.bootID && pidNamespace == other.pidNamespace && hostName == other.hostName
  }

  private var isComplete: Bool {
    // To the system, ids from 0 down mean groups of processes.
    !bootID.isEmpty && pidNamespace != nil && !hostName.isEmpty && processID > 0
  }
}

/// What the system says about a process id.
enum ProcessStatus: Sendable, Equatable {
  /// No process has it.
  case absent
  /// The process has ended, but its parent has not yet read its exit status.
  case ended
  /// A process has it. Zero if its start could not be read.
  case running(startTime: Int64)
  /// The caller may not know.
  case unreadable
}
