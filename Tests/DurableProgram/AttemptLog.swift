import DurableOperations
import Foundation

/// A file that several processes note in what they did, in the order in which they did it.
///
/// Each note is one write at the end of the file: it is there whole when this returns, whatever
/// becomes of the process.
final class AttemptLog: Sendable {
  private let file: Int32?
  private let run: String

  init(_ options: ProgramOptions) {
    file = options.log.map { open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o666) }
    run = options.run
  }

  func note(_ what: String, _ id: JobID) {
    guard let file else { return }
    let line = Array("\(what) \(id.rawValue) \(run)\n".utf8)
    if write(file, line, line.count) != line.count { fatalError("the log can not be written") }
  }
}
