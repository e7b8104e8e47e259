/// A command line, or a file that it names, with which nothing can be run: what is wrong, and what to do.
package struct UsageError: Error, Equatable, CustomStringConvertible {
  /// The exit status that says so: `EX_USAGE`.
  package static let exitStatus: Int32 = 64

  package let problem: String
  package let remedy: String

  package init(problem: String, remedy: String) {
    self.problem = problem
    self.remedy = remedy
  }

  package var description: String { "\(problem)\n\(remedy)" }
}
