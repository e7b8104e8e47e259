/// A command line that cannot be carried out: what is wrong, and what to do.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let problem: String
  let remedy: String

  var description: String { "\(problem)\n\(remedy)" }
}
