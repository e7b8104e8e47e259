import CompositeOperations

extension Workflow: CustomStringConvertible, CustomDebugStringConvertible {
  /// The name, how many tasks there are in each state, and how the last run ended.
  public var description: String {
    let (counts, taskCount, isRunning, settlement) = storage.withLock { storage in
      (storage.state.counts, storage.state.nodes.count, storage.state.isRunning, storage.state.settlement)
    }
    var text = "<Workflow “\(name)”: \(taskCount) \(taskCount == 1 ? "task" : "tasks")"
    let states = AnyWorkflowTask.State.allCases.filter { counts[$0] > 0 }
    if !states.isEmpty { text += " (\(states.map { "\(counts[$0]) \($0)" }.joined(separator: ", ")))" }
    switch settlement {
    case _ where isRunning: text += ", running"
    case .finished: text += ", finished"
    case .failed: text += ", failed"
    case .cancelled: text += ", cancelled"
    case nil: break
    }
    return text + ">"
  }

  /// The description, and a line for each task, once, with the names of its prerequisites.
  public var debugDescription: String {
    let nodes = storage.withLock(\.state.nodes)
    let names = nodes.indices.map { nodes[$0].plan.name(at: $0) }
    var lines = [description]
    for (index, node) in nodes.enumerated() {
      var line = "  \(names[index]): \(node.state)"
      if node.attempt > 0 { line += ", attempt \(node.attempt)" }
      if let error = node.error { line += ", \(headline(of: error))" }
      let prerequisites = Set(node.plan.prerequisites).sorted()
      if !prerequisites.isEmpty { line += ", after \(prerequisites.map { names[$0] }.joined(separator: ", "))" }
      if let subworkflow = node.plan.subworkflow { line += ", \(subworkflow)" }
      lines.append(line)
    }
    return lines.joined(separator: "\n")
  }
}

/// The first line of an error's text: that of a subworkflow's has a line for each of its tasks.
func headline(of error: any Error) -> Substring {
  let text = "\(error)"
  return text.prefix { !$0.isNewline }
}
