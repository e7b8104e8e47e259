import Foundation

/// Releases operations iteratively, however deeply they own each other.
///
/// A composition that is released releases its children, and so on, which takes some stack for each
/// level. Here, objects that are released during another release wait in a list instead.
package enum ReleaseList {
  private final class List {
    var objects: [Any] = []
    var isDraining = false
  }

  private static let threadLocal = ThreadLocal { List() }

  /// Releases an object that may own operations.
  package static func release<Object>(_ object: inout Object?) {
    guard object != nil else { return }
    // In one expression, so that only the list retains it after this.
    threadLocal.current.objects.append(object.take()!)
    drain()
  }

  /// Releases objects that own each other, to which the caller must hold no other reference.
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
      // The last reference ends with this scope, outside any access to the list, which a
      // deinitializer may use.
      let last = list.objects.removeLast()
      withExtendedLifetime(last) {}
    }
    list.isDraining = false
  }
}
