import Foundation

/// Finds circles of dependencies, in which no operation could ever start, among the children of one composition.
///
/// What was looked at is remembered as long as the child waits that the search began with, so that all searches together
/// cost as much as there are dependencies. When that child waits no longer, what it waited for has finished, and need not
/// be remembered; nor does it live on, so that its address may be another operation's.
struct DependencyCircles {
  /// What is wrong with an operation. The reference tells whether it is still this operation that has the address.
  private struct Finding {
    weak var operation: Operation?
    let error: OperationError
  }

  /// What was looked at, and whether it is in a circle.
  private var known: [ObjectIdentifier: Bool] = [:]
  /// The same by the child that was the first to lead there.
  private var knownBecauseOf: [Int: [ObjectIdentifier]] = [:]
  /// Those that are in a circle with a child of the composition.
  private var findings: [ObjectIdentifier: Finding] = [:]

  /// Whether it is known that the operation is in no circle.
  func isHarmless(_ operation: Operation) -> Bool { known[ObjectIdentifier(operation)] == false }

  /// Whether an earlier search has been there.
  func isKnown(_ operation: Operation) -> Bool { known[ObjectIdentifier(operation)] != nil }

  /// What is wrong with an operation that is known to be in a circle with a child.
  func error(of operation: Operation) -> OperationError? {
    guard let finding = findings[ObjectIdentifier(operation)], finding.operation === operation else { return nil }
    return finding.error
  }

  /// Takes up what a search has found that began with child `tag`.
  mutating func add(_ search: Search, tag: Int) {
    if let circle = search.circle {
      let error = OperationError(circle: circle)
      for operation in circle { findings[ObjectIdentifier(operation)] = Finding(operation: operation, error: error) }
      return
    }
    for (identifier, isInCircle) in search.looked where known[identifier] == nil {
      known[identifier] = isInCircle
      knownBecauseOf[tag, default: []].append(identifier)
    }
  }

  /// Child `tag` does not wait any more.
  mutating func forget(_ tag: Int) {
    for identifier in knownBecauseOf.removeValue(forKey: tag) ?? [] { known[identifier] = nil }
  }

  /// One search, from a child that is about to wait. It looks at operations of the user's, and so is made under no lock.
  ///
  /// What an operation waits for are its unfinished dependencies as long as it has not started and is not cancelled, and,
  /// if it is a composition that executes, its unfinished children.
  struct Search {
    /// Operations that are looked at to the end, at most: a composition that a child depends on may have very many
    /// children.
    private static let limit = 10_000

    private struct Step {
      let operation: Operation
      var rest: [Operation]
      let number: Int
      /// The lowest number that was met from here on.
      var lowest: Int
    }

    /// The operations that wait for each other, from the child on; nil if there is no such circle.
    private(set) var circle: [Operation]?
    /// What was looked at to the end, and whether it is in a circle, which the child is not part of. The members of that
    /// report it, if they are children of a composition.
    fileprivate private(set) var looked: [ObjectIdentifier: Bool] = [:]

    /// - Parameters:
    ///   - source: what the child is a child of.
    ///   - skips: whether nothing can be found from there on.
    init(from child: Operation, in source: WorkSource, skips: (Operation) -> Bool) {
      func closesCircle(_ next: Operation) -> Bool {
        next === child || (next as? SettlingOperation)?.isExecuting(source) == true
      }
      let awaited = Self.awaited(by: child)
      // The usual case: what it depends on waits as well, and was looked at then.
      if awaited.allSatisfy({ !closesCircle($0) && skips($0) }) {
        looked[ObjectIdentifier(child)] = false
        return
      }
      // Tarjan's algorithm, as a loop over what is left to look at: chains of dependencies are longer than a stack is
      // deep.
      var path = [Step(operation: child, rest: awaited, number: 0, lowest: 0)]
      var numbers = [ObjectIdentifier(child): 0]
      // Those that may be in a circle with one that is on the path.
      var open = [ObjectIdentifier(child)]
      while let last = path.indices.last {
        guard let next = path[last].rest.popLast() else {
          let done = path.removeLast()
          if let last = path.indices.last { path[last].lowest = min(path[last].lowest, done.lowest) }
          if done.lowest == done.number { close(ObjectIdentifier(done.operation), &open) }
          continue
        }
        if closesCircle(next) {
          circle = path.map(\.operation) + (next === child ? [] : [next])
          return
        }
        let identifier = ObjectIdentifier(next)
        if next === path[last].operation {
          looked[identifier] = true
        } else if let number = numbers[identifier] {
          if looked[identifier] == nil { path[last].lowest = min(path[last].lowest, number) }
        } else if looked.count < Self.limit, !skips(next) {
          let number = numbers.count
          numbers[identifier] = number
          open.append(identifier)
          path.append(Step(operation: next, rest: Self.awaited(by: next), number: number, lowest: number))
        }
      }
    }

    /// Nothing more leads to `first`: what is open from there on is one circle, or `first` alone.
    private mutating func close(_ first: ObjectIdentifier, _ open: inout [ObjectIdentifier]) {
      let isInCircle = open.last != first
      while let identifier = open.popLast() {
        if looked[identifier] == nil { looked[identifier] = isInCircle }
        if identifier == first { return }
      }
    }

    private static func awaited(by operation: Operation) -> [Operation] {
      guard !operation.isFinished else { return [] }
      guard operation.isExecuting else {
        // A cancel makes it ready, whatever its dependencies.
        return operation.isCancelled ? [] : operation.dependencies.filter { !$0.isFinished }
      }
      // Of these one is enough.
      if ((operation as? SettlingOperation)?.source as? ParallelSource)?.succeedsFirst == true { return [] }
      var children: [Operation] = []
      (operation as? SettlingOperation)?.source?.forEachChild { child, _ in
        if !child.isFinished { children.append(child) }
      }
      return children
    }
  }
}

extension SettlingOperation {
  /// Whether this is the composition that `source` runs.
  fileprivate func isExecuting(_ source: WorkSource) -> Bool {
    state.current.has(.needsNoSlot) && self.source === source
  }
}

extension OperationError {
  /// - Parameter circle: each of these waits for the next one, and the last one for the first.
  fileprivate init(circle: [Operation]) {
    let shown = 8
    var names = circle.prefix(shown).map(OperationError.describe)
    if circle.count > shown { names.append("\(circle.count - shown) more") }
    names.append(OperationError.describe(circle[0]))
    self.init(.dependencyCircle, describing: names.joined(separator: " → "))
  }
}
