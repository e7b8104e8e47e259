import Foundation

// Finds circles through the places of a composition with a limit: all its places are taken by
// compositions, and each of these waits for a child that waits for a place.

/// Tells compositions of a limit around them. The operation of the composition keeps it, not this.
final class LimitAround: Sendable {
  weak let composition: Composition?

  init(_ composition: Composition) { self.composition = composition }
}

extension Composition {
  /// The error of a child that is about to wait, if a composition around it then waits for ever.
  ///
  /// - Parameter search: the search from the child, which has found no circle of dependencies.
  final func circleOfPlaces(through child: Operation, _ search: DependencyCircles.Search) -> OperationError? {
    var limit = environment.limit
    while let composition = limit?.composition {
      if composition.isList, composition.noteWait(for: search.looked.keys),
        let circle = composition.circleOfPlaces(through: child)
      {
        return OperationError(circle: circle, endsInPlace: true)
      }
      limit = composition.environment.limit
    }
    return nil
  }
}

extension Composition {
  /// The children by their identity, and whether operations inside children wait for children.
  struct Awaited {
    var children: Set<ObjectIdentifier> = []
    var isAwaited = false
  }

  /// Notes if one of the operations, which an operation inside a child waits for, is a child.
  fileprivate final func noteWait(for operations: some Sequence<ObjectIdentifier>) -> Bool {
    guard table.withLock({ $0.hasWaiting }) else { return false }
    return awaited.withLock { awaited in
      if awaited.children.isEmpty { awaited.children = Set(children.map(ObjectIdentifier.init)) }
      guard operations.contains(where: awaited.children.contains) else { return false }
      awaited.isAwaited = true
      return true
    }
  }

  /// The circle if all places are taken by compositions that wait for children without a place.
  ///
  /// - Parameter operation: an operation that the circle passes.
  final func circleOfPlaces(through operation: Operation) -> [Operation]? {
    guard awaited.withLockIfMade({ $0.isAwaited }) == true, let inFlight = fullPlaces else { return nil }
    var circles: [[Operation]] = []
    for child in children where child.isExecuting {
      guard child.hasContents, let circle = DependencyCircles.Search(from: child, closesCircle: waitsForPlace).found
      else { return nil }
      circles.append(circle)
    }
    guard circles.count == inFlight else { return nil }
    return circles.first { $0.contains { $0 === operation } } ?? circles.first
  }

  private func waitsForPlace(_ operation: Operation) -> Bool {
    guard awaited.withLock({ $0.children.contains(ObjectIdentifier(operation)) }) else { return false }
    guard !operation.isFinished, !operation.isExecuting else { return false }
    return operation.isCancelled || !DependencyWait.isNeeded(for: operation)
  }
}

extension Operation {
  fileprivate var hasContents: Bool { (self as? SettlingOperation)?.composition != nil }
}
