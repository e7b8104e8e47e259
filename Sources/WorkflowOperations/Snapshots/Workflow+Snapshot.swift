import CompositeOperations
import Foundation

extension Workflow {
  /// Records the results of all finished tasks, to go on with in another process.
  ///
  /// The snapshot contains tasks whose results are `Codable` or `Void`, conditions that have
  /// finished, and subworkflows with what has finished in them. Tasks with other results will run
  /// again. You may call this at any moment, also while the workflow runs.
  ///
  /// - Throws: ``WorkflowSnapshotError``, if a result cannot be encoded.
  public func snapshot() throws -> WorkflowSnapshot {
    var parts: [WorkflowSnapshot.Part] = []
    // Workflows that are still to be recorded. In a loop, because they may nest deeper than a stack
    // goes.
    var pending: [(workflow: Workflow, place: WorkflowSnapshot.Place?)] = [(self, nil)]
    let encoder = JSONEncoder()
    while let (workflow, place) = pending.popLast() {
      var part = WorkflowSnapshot.Part(workflowName: workflow.name, place: place)
      var inside: [(workflow: Workflow, place: WorkflowSnapshot.Place?)] = []
      for (index, node) in workflow.storage.withLock(\.state.nodes).enumerated() {
        let name = node.plan.name(at: index)
        if node.plan.name == nil { part.unnamed.append(index) }
        part.tasks[name] = try entry(for: node, name: name, encoder)
        if let subworkflow = node.plan.subworkflow {
          inside.append((subworkflow, WorkflowSnapshot.Place(part: parts.count, task: name)))
        }
      }
      parts.append(part)
      pending += inside.reversed()
    }
    return WorkflowSnapshot(parts: parts)
  }

  private func entry(for node: TaskNode, name: String, _ encoder: JSONEncoder) throws -> WorkflowSnapshot.Entry? {
    if node.plan.subworkflow != nil {
      return WorkflowSnapshot.Entry(isFinished: node.state == .finished, finishDate: node.finishDate)
    }
    guard node.state == .finished else { return nil }
    if node.plan.handle.valueType == Void.self {
      return WorkflowSnapshot.Entry(isFinished: true, finishDate: node.finishDate)
    }
    guard node.plan.handle.valueType is any Codable.Type, let value = node.value as? any Encodable else { return nil }
    do {
      let text = String(decoding: try encoder.encode(value), as: UTF8.self)
      return WorkflowSnapshot.Entry(isFinished: true, result: text, finishDate: node.finishDate)
    } catch {
      throw WorkflowSnapshotError(.notEncodable, name: name, cause: error)
    }
  }

  /// Finishes the tasks whose names are in a snapshot with its results, and resets all others. A
  /// run goes on from there.
  ///
  /// Restores everything or, if it throws, nothing. There is one exception: if another thread
  /// starts the workflow during this call, subworkflows may have been restored. Starts nothing, and
  /// causes no events in this workflow and those inside of it. If this workflow is a task of
  /// another one, that task is reset, if it has ended, with all that depend on it; these resets are
  /// events there. A restored task keeps its result even if a prerequisite has to run again,
  /// because the result of that could not be stored. The task of a subworkflow is finished only if
  /// every task in it is.
  ///
  /// Only their order identifies tasks without a name. So this throws if a result belongs to such a
  /// task, and tasks without a name were added or removed since.
  ///
  /// - Returns: the names in the snapshot that no task has; for tasks of subworkflows the name of
  ///   the outer task and a slash come first.
  /// - Throws: ``WorkflowSnapshotError``, if the workflow is running, or if a stored result cannot
  ///   be decoded, may be that of another task without a name, or is that of a subworkflow and the
  ///   task has none.
  @discardableResult
  public func restore(_ snapshot: WorkflowSnapshot) throws -> [String] {
    var restoration = Restoration(snapshot)
    restoration.pending.append((self, part: 0, within: nil))
    while let (workflow, part, within) = restoration.pending.popLast() {
      try workflow.prepare(&restoration, part: part, within: within)
    }
    for step in restoration.steps where step.workflow.isRunning {
      throw WorkflowSnapshotError(.workflowIsRunning, name: step.workflow.name)
    }
    // Subworkflows first, so that no task is finished whose subworkflow is not.
    for step in restoration.steps.reversed() {
      // A subworkflow with results that could not be stored has to run again, and its task with it.
      let results = step.results.filter { ($0.value as? Workflow)?.hasUnfinishedTasks != true }
      let isRestored = step.workflow.input { $0.restore(results) }
      // Another thread has just started it.
      guard isRestored else { throw WorkflowSnapshotError(.workflowIsRunning, name: step.workflow.name) }
    }
    follow(.reset, if: true)
    return restoration.unused.sorted()
  }

  /// What is to be done to the workflow and its subworkflows.
  private struct Restoration {
    let parts: [WorkflowSnapshot.Part]
    /// The parts of the workflows that are tasks of others.
    private var places: [WorkflowSnapshot.Place: Int] = [:]
    /// Workflows that have to be prepared, each with its part of the snapshot, if there is one, and
    /// its task outside.
    var pending: [(workflow: Workflow, part: Int?, within: Within?)] = []
    var steps: [(workflow: Workflow, results: [RestoredResult], within: Within?)] = []
    private(set) var unused: [String] = []

    /// The task whose subworkflow a workflow is, and the step of the workflow around it.
    typealias Within = (step: Int, task: String)

    init(_ snapshot: WorkflowSnapshot) {
      parts = snapshot.parts
      for (index, part) in parts.enumerated() {
        if let place = part.place { places[place] = index }
      }
    }

    /// The part of the workflow that stood in a task of another one.
    func part(inside part: Int?, task: String) -> Int? {
      part.flatMap { places[WorkflowSnapshot.Place(part: $0, task: task)] }
    }

    /// Notes the name of a task that there is no longer, and those of the tasks in its subworkflow.
    mutating func leaveOut(_ path: String, inside part: Int?) {
      var pending = [(path, part)]
      while let (path, part) = pending.popLast() {
        unused.append(path)
        guard let part else { continue }
        pending += parts[part].tasks.keys.map { ("\(path)/\($0)", self.part(inside: part, task: $0)) }
      }
    }

    /// The name of a task after those of the tasks around it. Made only where it is shown.
    func path(to name: String, within: Within?) -> String {
      var names = [name]
      var within = within
      while let (step, task) = within {
        names.append(task)
        within = steps[step].within
      }
      return names.reversed().joined(separator: "/")
    }
  }

  private func prepare(_ restoration: inout Restoration, part: Int?, within: Restoration.Within?) throws {
    let nodes = storage.withLock(\.state.nodes)
    let step = restoration.steps.count
    var entries = part.map { restoration.parts[$0].tasks } ?? [:]
    var results: [RestoredResult] = []
    let unnamed = nodes.indices.filter { nodes[$0].plan.name == nil }
    let stored = part.map { restoration.parts[$0].unnamed } ?? []
    let doubtful = unnamed == stored ? [] : Set(unnamed + stored)
    func requireSameTask(_ name: String) throws {
      guard let place = TaskNames.place(of: name), doubtful.contains(place) else { return }
      throw WorkflowSnapshotError(
        .notDecodable, name: restoration.path(to: name, within: within),
        detail: "tasks without a name were added or removed, and only their order identifies them")
    }
    for (index, node) in nodes.enumerated() {
      let name = node.plan.name(at: index)
      let entry = entries[name]
      if let subworkflow = node.plan.subworkflow {
        let inside = restoration.part(inside: part, task: name)
        restoration.pending.append((subworkflow, inside, within: (step, name)))
        guard inside != nil else { continue }
        try requireSameTask(name)
        entries[name] = nil
        guard entry?.isFinished == true else { continue }
        results.append(RestoredResult(task: index, value: subworkflow, finishDate: entry?.finishDate))
      } else if let entry, entry.isFinished {
        try requireSameTask(name)
        // It looks like that of a task without a value.
        guard restoration.part(inside: part, task: name) == nil else {
          throw WorkflowSnapshotError(
            .notDecodable, name: restoration.path(to: name, within: within), detail: "it is that of a subworkflow")
        }
        let value = try decode(entry, as: node.plan.handle) { restoration.path(to: name, within: within) }
        results.append(RestoredResult(task: index, value: value, finishDate: entry.finishDate))
        entries[name] = nil
      }
    }
    restoration.steps.append((self, results, within))
    for name in entries.keys {
      let path = restoration.path(to: name, within: within)
      restoration.leaveOut(path, inside: restoration.part(inside: part, task: name))
    }
  }

  private func decode(
    _ entry: WorkflowSnapshot.Entry, as handle: AnyWorkflowTask.Type, name: () -> String
  ) throws -> any Sendable {
    guard let text = entry.result else {
      if handle.valueType == Void.self { return () }
      throw WorkflowSnapshotError(
        .notDecodable, name: name(), detail: "there is none, and the task's type is \(handle.valueType)")
    }
    do {
      return try handle.decode(text)
    } catch let error as WorkflowSnapshotError {
      throw WorkflowSnapshotError(.notDecodable, name: name(), detail: error.detail)
    } catch {
      throw WorkflowSnapshotError(.notDecodable, name: name(), cause: error)
    }
  }
}

/// A result from a snapshot.
struct RestoredResult: Sendable {
  let task: Int
  let value: any Sendable
  let finishDate: Date?
}

extension WorkflowState {
  /// Finishes tasks with results of another process, and resets all others. False if the workflow
  /// is running.
  mutating func restore(_ results: [RestoredResult]) -> Bool {
    guard run == nil, liveCount == 0 else { return false }
    effects.released += fulfilments.values
    fulfilments = [:]
    settlement = nil
    wasResetSinceRun = true
    for task in nodes.indices {
      unwant(task)
      clear(task)
    }
    for result in results {
      move(result.task, to: .finished)
      nodes[result.task].value = result.value
      nodes[result.task].finishDate = result.finishDate
      if nodes[result.task].plan.isCondition { fulfilments[result.task] = result.value }
    }
    for task in nodes.indices {
      nodes[task].unmetCount = nodes[task].plan.prerequisites.count { nodes[$0].state != .finished }
      if nodes[task].unmetCount == 0, nodes[task].state == .pending { move(task, to: .ready) }
    }
    return true
  }
}
