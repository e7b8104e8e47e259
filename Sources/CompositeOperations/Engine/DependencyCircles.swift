import Foundation
import Synchronization

/// Finds circles of dependencies, in which no operation could ever start, among the children of one
/// composition.
///
/// A search remembers what it visited as long as its first child waits, so that all searches
/// together visit each dependency once. When that child no longer waits, what it waited for has
/// finished and is forgotten: it may be released, and its address reused.
struct DependencyCircles {
  /// The error of an operation. The weak reference tells whether the address is still that
  /// operation's.
  private struct Finding {
    weak var operation: Operation?
    let error: OperationError
  }

  /// The visited operations, and whether each is in a circle.
  private var known: [ObjectIdentifier: Bool] = [:]
  /// The visited operations by the child whose search reached them first.
  private var knownBecauseOf: [Int: [ObjectIdentifier]] = [:]
  /// The additions at the last search. After further ones, what was visited may depend on more.
  private var additions = 0
  /// The operations in a circle with a child of the composition.
  private var findings: [ObjectIdentifier: Finding] = [:]

  /// Begins a search. Forgets what was visited if dependencies were added to it since.
  mutating func beginSearch() {
    let additions = SettlingOperation.additionsAfterSearches.load(ordering: .acquiring)
    guard additions != self.additions else { return }
    self.additions = additions
    known = [:]
    knownBecauseOf = [:]
  }

  /// Whether a search found that the operation is in no circle.
  func isHarmless(_ operation: Operation) -> Bool { known[ObjectIdentifier(operation)] == false }

  /// Whether an earlier search visited the operation.
  func isKnown(_ operation: Operation) -> Bool { known[ObjectIdentifier(operation)] != nil }

  /// The error of an operation that is known to be in a circle with a child.
  func error(of operation: Operation) -> OperationError? {
    guard let finding = findings[ObjectIdentifier(operation)], finding.operation === operation else { return nil }
    return finding.error
  }

  /// Records what the search that began with child `tag` found.
  ///
  /// - Parameter error: the error if it found a circle. Made outside the lock: the names in it may
  ///   be the user's overrides.
  mutating func add(_ search: Search, _ error: OperationError?, tag: Int) {
    if let circle = search.found, let error {
      for operation in circle { findings[ObjectIdentifier(operation)] = Finding(operation: operation, error: error) }
      return
    }
    for (identifier, isInCircle) in search.looked where known[identifier] == nil {
      known[identifier] = isInCircle
      knownBecauseOf[tag, default: []].append(identifier)
    }
  }

  /// Forgets what the search from child `tag` visited: the child no longer waits.
  mutating func forget(_ tag: Int) {
    for identifier in knownBecauseOf.removeValue(forKey: tag) ?? [] { known[identifier] = nil }
  }

  /// One search, from a child that is about to wait. It calls the user's overrides, so it runs
  /// under no lock.
  ///
  /// An operation that has not started and is not cancelled waits for its unfinished dependencies;
  /// a composition waits for the operations inside it as well.
  struct Search {
    private struct Step {
      let operation: Operation
      var rest: [Operation]
      let number: Int
      /// The lowest number reachable from here.
      var lowest: Int
    }

    /// The circle, beginning with the child; nil if there is none.
    private(set) var found: [Operation]?
    /// The completely visited operations, and whether each is in a circle without the child. If
    /// members of such a circle are children of a composition, their own searches report it.
    private(set) var looked: [ObjectIdentifier: Bool] = [:]

    /// - Parameters:
    ///   - closesCircle: whether an operation waits for the child in a way that the search does not
    ///     follow.
    ///   - skips: whether a search from there on is known to find nothing.
    init(
      from child: Operation, closesCircle: (Operation) -> Bool, skips: (Operation) -> Bool = { _ in false }
    ) {
      let awaited = Self.awaited(by: child)
      // The usual case: the child's dependencies wait as well, and were searched when they began
      // to.
      if awaited.allSatisfy({ !closesCircle($0) && skips($0) }) {
        looked[ObjectIdentifier(child)] = false
        return
      }
      // Tarjan's algorithm as a loop: a chain of dependencies may be too long for recursion.
      var path = [Step(operation: child, rest: awaited, number: 0, lowest: 0)]
      var numbers = [ObjectIdentifier(child): 0]
      // The operations that may be in a circle with one on the path.
      var open = [ObjectIdentifier(child)]
      while let last = path.indices.last {
        guard let next = path[last].rest.popLast() else {
          let done = path.removeLast()
          if let last = path.indices.last { path[last].lowest = min(path[last].lowest, done.lowest) }
          if done.lowest == done.number { close(ObjectIdentifier(done.operation), &open) }
          continue
        }
        if closesCircle(next) {
          found = path.map(\.operation) + (next === child ? [] : [next])
          return
        }
        let identifier = ObjectIdentifier(next)
        if next === path[last].operation {
          looked[identifier] = true
        } else if let number = numbers[identifier] {
          if looked[identifier] == nil { path[last].lowest = min(path[last].lowest, number) }
        } else if !next.mayWait {
          // A composition that the child depends on may have very many such children.
          if !path[path.count - 1].operation.isExecuting { looked[identifier] = false }
        } else if !skips(next) {
          let number = numbers.count
          numbers[identifier] = number
          open.append(identifier)
          path.append(Step(operation: next, rest: Self.awaited(by: next), number: number, lowest: number))
        }
      }
    }

    /// Closes the component of `first`: the open operations from there on are one circle, or
    /// `first` alone.
    private mutating func close(_ first: ObjectIdentifier, _ open: inout [ObjectIdentifier]) {
      let isInCircle = open.last != first
      while let identifier = open.popLast() {
        if looked[identifier] == nil { looked[identifier] = isInCircle }
        if identifier == first { return }
      }
    }

    private static func awaited(by operation: Operation) -> [Operation] {
      let own = operation as? SettlingOperation
      // Before its dependencies are read: who adds one afterwards sees the flag.
      own?.state.apply { $0.note(.searched) }
      guard !operation.isFinished else { return [] }
      // It settles with the first success, so no single child can hold it back.
      let composition = own?.composition?.succeedsFirst == true ? nil : own?.composition
      var awaited: [Operation] = []
      if operation.isExecuting {
        composition?.forEachChild { child, _ in awaited.append(child) }
      } else if !operation.isCancelled {
        // A cancel makes it ready, whatever its dependencies.
        awaited = operation.dependencies + (composition?.contents ?? [])
      }
      // A composition whose guard another one runs waits for what that one runs.
      let runner = composition.flatMap { composition in
        StripedLock.withLock(of: composition) { composition.guardRunner }
      }
      runner?.forEachChild { child, _ in awaited.append(child) }
      return awaited.filter { !$0.isFinished }
    }
  }
}

extension Operation {
  /// Whether the operation may wait for another one: it has dependencies, or is a composition.
  fileprivate var mayWait: Bool {
    guard let own = self as? SettlingOperation else { return true }
    return own.state.apply { state in
      // Who adds a dependency afterwards sees the flag.
      state.note(.searched)
      return state.hasAny([.hasDependencies, .needsNoSlot])
    }
  }
}

extension SettlingOperation {
  /// Whether this is the operation of `composition`.
  func isExecuting(_ composition: Composition) -> Bool {
    state.current.has(.needsNoSlot) && self.composition === composition
  }
}
