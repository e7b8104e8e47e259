import Foundation

/// One lazily made object per thread, released when the thread ends.
package struct ThreadLocal<Object: AnyObject>: @unchecked Sendable {  // immutable; each thread sees its own object
  private let key: pthread_key_t
  private let make: @Sendable () -> Object

  package init(_ make: @escaping @Sendable () -> Object) {
    self.make = make
    self.key = makeThreadKey()
  }

  package var current: Object {
    @inline(__always) get {
      if let pointer = pthread_getspecific(key) {
        return Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
      }
      return makeCurrent()
    }
  }

  @inline(never)
  private func makeCurrent() -> Object {
    let object = make()
    pthread_setspecific(key, Unmanaged.passRetained(object).toOpaque())
    return object
  }
}
