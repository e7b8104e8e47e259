/// An error of this package that wraps those of others, for those who look for one of them.
package protocol ErrorWithCauses: Error {
  /// What it wraps. Empty if it comes from itself.
  var causes: [any Error] { get }
}

extension CompositeError: ErrorWithCauses {
  package var causes: [any Error] { failures.map(\.error) }
}

extension RetryError: ErrorWithCauses {
  package var causes: [any Error] { [lastError] }
}
