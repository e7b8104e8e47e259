/// An error of this package that wraps those of others, for those who look for one of them.
package protocol ErrorWithCauses: Error {
  /// What it wraps. Empty if it comes from itself.
  var causes: [any Error] { get }
}

/// What an error holds, with other errors in it.
///
/// An object, because errors may hold each other deeper than a stack goes: it is released without a stack frame for each
/// level.
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
