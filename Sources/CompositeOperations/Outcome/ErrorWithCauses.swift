/// An error of this package that wraps other errors, for code that searches for one of them.
package protocol ErrorWithCauses: Error {
  /// The wrapped errors; empty if there is none.
  var causes: [any Error] { get }
}

/// The contents of an error that may hold other errors.
///
/// An object, because errors may nest too deep for recursion: it is released iteratively.
package final class NestedErrors<Contents: Sendable>: @unchecked Sendable {  // changed only when it is released
  private var held: Contents?

  package init(_ contents: Contents) {
    held = contents
  }

  deinit {
    ReleaseList.release(&held)
  }

  package var contents: Contents { held! }
}

extension CompositeError: ErrorWithCauses {
  package var causes: [any Error] { failures.map(\.error) }
}
