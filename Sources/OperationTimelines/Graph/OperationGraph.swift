import CompositeOperations
import Foundation

/// Describes operations, and the operations that they are made of, in their present state.
struct OperationGraph {
  /// How many levels of compositions are drawn as boxes in boxes. Compositions in the last level
  /// are drawn without their contents. Neither readers nor renderers cope with more.
  static let maxDepth = 24

  /// The node of each operation that was drawn, and the level of that node.
  private var places: [ObjectIdentifier: (identifier: String, level: Int)] = [:]
  private var levelCount = 0
  /// Edges from one level to another. They stand outside of all boxes, into which they would pull
  /// nodes.
  private var crossing: [GraphDescription.Edge] = []

  static func describe(_ operation: Operation) -> GraphDescription {
    var graph = OperationGraph()
    var description = graph.level(of: KnownChildren(contents: [operation]), title: title(of: operation), depth: 0)
    description.edges += graph.crossing
    return description
  }

  private mutating func level(of children: KnownChildren, title: String, depth: Int) -> GraphDescription {
    let level = levelCount
    levelCount += 1
    var description = GraphDescription(title: title)
    let planned = children.plan.map { addSteps(of: $0, children, level: level, to: &description) }
    if planned == nil, children.earlier > 0 {
      let name = children.earlier == 1 ? "1 earlier operation" : "\(children.earlier) earlier operations"
      description.nodes.append(
        GraphDescription.Node(identifier: "e\(level)", name: name, kind: .condition, state: .finished))
    }
    // In a loop: chains may be longer than a stack allows.
    var pending = Array(children.contents.reversed())
    var arrows: [(from: Operation, to: Operation)] = []
    while let operation = pending.popLast() {
      guard places[ObjectIdentifier(operation)] == nil else { continue }
      let identifier = "o\(places.count + 1)"
      places[ObjectIdentifier(operation)] = (identifier, level)
      let composition = (operation as? SettlingOperation)?.composition
      let known = composition?.knownChildren ?? KnownChildren()
      var contents: GraphDescription?
      if known.isWorthDrawing, depth < OperationGraph.maxDepth {
        contents = self.level(of: known, title: composition?.kind.rawValue ?? "", depth: depth + 1)
      }
      description.nodes.append(
        GraphDescription.Node(
          identifier: identifier, name: OperationGraph.title(of: operation),
          kind: contents != nil ? .group : Self.isGate(operation) ? .condition : .work,
          state: OperationGraph.state(of: operation), contents: contents))
      for upstream in known.upstream {
        arrows.append((upstream, operation))
        pending.append(upstream)
      }
    }
    for (gate, next) in zip(children.contents, children.contents.dropFirst()) where Self.isGate(gate) {
      arrows.append((gate, next))
    }
    for arrow in arrows {
      guard let from = places[ObjectIdentifier(arrow.from)], let to = places[ObjectIdentifier(arrow.to)] else {
        continue
      }
      let edge = GraphDescription.Edge(from: from.identifier, to: to.identifier)
      if from.level == level { description.edges.append(edge) } else { crossing.append(edge) }
    }
    guard let current = children.contents.first, let place = places[ObjectIdentifier(current)] else {
      return description
    }
    if let planned {
      if let before = planned.before { description.edges.append(.init(from: before, to: place.identifier)) }
      if let after = planned.after { description.edges.append(.init(from: place.identifier, to: after)) }
    } else if children.earlier > 0 {
      description.edges.append(GraphDescription.Edge(from: "e\(level)", to: place.identifier))
    }
    return description
  }

  /// Adds the steps of a plan that have no operation now. Returns the steps beside the current
  /// operation.
  private func addSteps(
    of plan: KnownChildren.Plan, _ children: KnownChildren, level: Int, to description: inout GraphDescription
  ) -> (before: String?, after: String?) {
    let current = children.contents.isEmpty ? nil : children.earlier
    func identifier(_ index: Int) -> String? {
      plan.names.indices.contains(index) && index != current ? "s\(level)_\(index)" : nil
    }
    for (index, name) in plan.names.enumerated() {
      guard let own = identifier(index) else { continue }
      description.nodes.append(
        GraphDescription.Node(
          identifier: own, name: name, kind: .work, state: plan.state(of: index, begun: children.earlier)))
      if let before = identifier(index - 1) { description.edges.append(.init(from: before, to: own)) }
    }
    return current.map { (identifier($0 - 1), identifier($0 + 1)) } ?? (nil, nil)
  }

  private static func isGate(_ operation: Operation) -> Bool { (operation as? SettlingOperation)?.isGate == true }

  private static func title(of operation: Operation) -> String {
    let own = operation as? SettlingOperation
    // The name of a policy is that of its work, which stands in its box, or at the end of its
    // arrow.
    if let name = own.map(\.givenName) ?? operation.name, !name.isEmpty { return name }
    guard let own else { return "\(type(of: operation))" }
    return own.composition?.kind.rawValue ?? type(of: own).typeDescription
  }

  private static func state(of operation: Operation) -> GraphDescription.State {
    switch operation.anyOutcome {
    case .success: .finished
    case .failure: .failed
    case .cancelled: .cancelled
    case nil: operation.isExecuting ? .executing : .pending
    }
  }
}

extension Operation {
  /// Draws this operation and its parts as a Mermaid flow chart, which many Markdown viewers show.
  ///
  /// A composition is a box around its contents. An arrow leads from an operation to what `then`,
  /// `map` and the like do after it. The colour shows the state. The drawing has what is known at
  /// this moment: of a sequence the current operation, and how many there were before. To see
  /// everything that ran, record a ``Timeline``.
  ///
  /// May be called at any moment, from any thread. It changes nothing, and does not retain the
  /// operation. In compositions that are nested more than 24 levels deep, the innermost are left
  /// out.
  public func mermaid() -> String { OperationGraph.describe(self).mermaid() }

  /// Draws this operation and its parts in the DOT language of Graphviz.
  ///
  /// See ``mermaid()`` for what it draws, and when it may be called.
  public func dot() -> String { OperationGraph.describe(self).dot() }
}

extension KnownChildren {
  /// Whether there is anything inside to draw.
  var isWorthDrawing: Bool { !contents.isEmpty || earlier > 0 || plan?.names.isEmpty == false }
}

extension KnownChildren.Plan {
  /// - Parameter count: how many steps have begun.
  func state(of index: Int, begun count: Int) -> GraphDescription.State {
    if let ended, ended.index == index { return ended.hasFailed ? .failed : .cancelled }
    return index < count ? .finished : .pending
  }
}
