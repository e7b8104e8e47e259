import Foundation

/// Whether values of a type are operations, or optionals or arrays of operations.
@inline(__always)
package func consistsOfOperations<Value>(_ type: Value.Type) -> Bool {
  // All of these are as large as a reference, and not trivial. This cheap check excludes most other
  // types.
  guard MemoryLayout<Value>.size == MemoryLayout<Operation>.size, !_isPOD(Value.self) else { return false }
  return typeConsistsOfOperations(Value.self)
}

@inline(never)
private func typeConsistsOfOperations(_ type: Any.Type) -> Bool {
  var type = type
  while let container = type as? any ElementContainer.Type { type = container.elementType }
  return type is Operation.Type
}

private protocol ElementContainer {
  static var elementType: Any.Type { get }
}

extension Optional: ElementContainer {
  fileprivate static var elementType: Any.Type { Wrapped.self }
}

extension Array: ElementContainer {
  fileprivate static var elementType: Any.Type { Element.self }
}
