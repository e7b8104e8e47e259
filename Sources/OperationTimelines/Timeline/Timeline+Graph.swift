import CompositeOperations

extension Timeline {
  /// Draws what ran as a Mermaid flow chart, which many Markdown viewers show.
  ///
  /// A composition is a box around its children, which are joined by arrows if they ran one after
  /// the other by design. The colour shows how each ended. Below the 16th level there are no boxes,
  /// but arrows from parent to child.
  public func mermaid() -> String { graph().mermaid() }

  /// Draws what ran in the DOT language of Graphviz, as ``mermaid()`` does.
  public func dot() -> String { graph().dot() }

  private func graph() -> GraphDescription {
    let tree = TimelineTree(self)
    var graph = GraphDescription(title: tree.roots.first.map { entries[$0].title } ?? "")
    add(tree.roots, of: tree, to: &graph, depth: 0)
    return graph
  }

  private func add(_ places: [Int], of tree: TimelineTree, to graph: inout GraphDescription, depth: Int) {
    for place in places {
      let children = tree.children[place]
      guard !children.isEmpty, depth < 16 else {
        addFlat(place, of: tree, to: &graph)
        continue
      }
      var contents = GraphDescription(title: entries[place].kind.rawValue)
      add(children, of: tree, to: &contents, depth: depth + 1)
      if entries[place].kind.isOrdered {
        for (from, to) in zip(children, children.dropFirst()) {
          contents.edges.append(GraphDescription.Edge(from: "n\(from + 1)", to: "n\(to + 1)"))
        }
      }
      graph.nodes.append(node(place, kind: .group, contents: contents))
    }
  }

  private func addFlat(_ place: Int, of tree: TimelineTree, to graph: inout GraphDescription) {
    var pending = [place]
    while let place = pending.popLast() {
      graph.nodes.append(node(place, kind: .work))
      for child in tree.children[place].reversed() {
        pending.append(child)
        graph.edges.append(GraphDescription.Edge(from: "n\(place + 1)", to: "n\(child + 1)"))
      }
    }
  }

  private func node(
    _ place: Int, kind: GraphDescription.Kind, contents: GraphDescription? = nil
  ) -> GraphDescription.Node {
    let entry = entries[place]
    let state: GraphDescription.State =
      switch entry.ending {
      case .success: .finished
      case .failure: .failed
      case .cancelled: .cancelled
      case nil: entry.started == nil ? .pending : .executing
      }
    return GraphDescription.Node(
      identifier: "n\(place + 1)", name: entry.title, kind: kind, state: state, contents: contents)
  }
}
