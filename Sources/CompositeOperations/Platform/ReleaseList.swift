import Foundation

/// Releases operations one after the other, however deeply they own each other.
///
/// A composition that is released releases its children, and so on: some stack for each level. Here those that are
/// released while another is being released wait on a list instead.
package enum ReleaseList {
  private final class List {
    var objects: [Any] = []
    var isDraining = false
  }

  private static let threadLocal = ThreadLocal { List() }

  /// Gives up something that may own operations.
  package static func release<Object>(_ object: inout Object?) {
    guard object != nil else { return }
    // In one expression, so that nothing but the list holds it from here on.
    threadLocal.current.objects.append(object.take()!)
    drain()
  }

  /// Gives up things that own each other, which the caller must not hold in any other way.
  static func release<Object>(_ objects: inout [Object]) {
    threadLocal.current.objects.append(contentsOf: objects as [Any])
    objects = []
    drain()
  }

  private static func drain() {
    let list = threadLocal.current
    guard !list.isDraining else { return }
    list.isDraining = true
    while !list.objects.isEmpty {
      // The last reference ends with this scope, when no access to the list is under way that it might make again.
      let last = list.objects.removeLast()
      withExtendedLifetime(last) {}
    }
    list.isDraining = false
  }
}
