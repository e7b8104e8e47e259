#if os(macOS) || os(Linux)
import Foundation

@testable import DurableOperations

/// A process that waits until it is killed, and whose status is only fetched by ``reap()``.
///
/// Not Foundation's `Process`, which fetches it as soon as it can.
final class Child {
  struct SpawnError: Error {
    let code: Int32
  }

  private let processID: pid_t
  private var isReaped = false

  init() throws {
    var processID = pid_t()
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/sleep"), strdup("3600"), nil]
    defer { for argument in arguments { free(argument) } }
    #if os(Linux)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    actions.closeInherited(from: STDERR_FILENO + 1)
    let code = posix_spawn(&processID, "/bin/sleep", &actions, nil, arguments, nil)
    #else
    let code = posix_spawn(&processID, "/bin/sleep", nil, nil, arguments, nil)
    #endif
    guard code == 0 else { throw SpawnError(code: code) }
    self.processID = processID
  }

  deinit {
    kill()
    reap()
  }

  /// Who it is, read as the process itself would.
  func identity() throws -> ProcessIdentity {
    guard case .running(let startTime) = ProcessStatus.of(Int64(processID)) else { throw SpawnError(code: ESRCH) }
    var identity = ProcessIdentity.current
    identity.processID = Int64(processID)
    identity.startTime = startTime
    return identity
  }

  func kill() {
    if !isReaped { _ = Foundation.kill(processID, SIGKILL) }
  }

  /// Waits until it has ended, and leaves its status where it is.
  func waitUntilEnded() {
    var info = siginfo_t()
    while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  }

  func reap() {
    guard !isReaped else { return }
    isReaped = true
    var status: Int32 = 0
    while waitpid(processID, &status, 0) < 0, errno == EINTR {}
  }
}
#endif
