/// A command line, a script or a file with which nothing can be run: what is wrong, and what to do.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let problem: String
  let remedy: String

  var description: String { "\(problem)\n\(remedy)" }
}
