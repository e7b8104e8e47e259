import Foundation

/// An error of the core that gives its `description` to code that asks for an `errorDescription` or
/// a `localizedDescription`, too.
///
/// In the other libraries each error has an `errorDescription` of its own. A file that imports one
/// of them alone, with `MemberImportVisibility`, would find that of Foundation, which is nil.
package protocol DescribedError: LocalizedError, CustomStringConvertible {}

extension DescribedError {
  /// The same as `description`.
  public var errorDescription: String? { description }
}
