import CompositeOperations
import Foundation

extension Workflow {
  /// Takes down the results of all finished tasks, to go on with in another process.
  ///
  /// In it are tasks whose results are `Codable` or `Void`, fulfilled conditions that have finished, and subworkflows with
  /// what has finished in them. Other tasks, with results that can only live here, will run again. It may be called at
  /// any moment, also while the workflow runs.
  ///
  /// - Throws: ``WorkflowSnapshotError``, if a result can not be encoded.
  public func snapshot() throws -> WorkflowSnapshot {
    let nodes = storage.withLock(\.state.nodes)
    let encoder = JSONEncoder()
    var snapshot = WorkflowSnapshot(workflowName: name)
    for (index, node) in nodes.enumerated() {
      let name = node.plan.name ?? TaskNames.automatic(index)
      if let subworkflow = node.plan.subworkflow {
        snapshot.tasks.entries[name] = WorkflowSnapshot.Entry(
          isFinished: node.state == .finished, finishDate: node.finishDate, subworkflow: try subworkflow.snapshot())
      } else if node.state == .finished, node.plan.handle.valueType == Void.self {
        snapshot.tasks.entries[name] = WorkflowSnapshot.Entry(isFinished: true, finishDate: node.finishDate)
      } else if node.state == .finished, node.plan.handle.valueType is any Codable.Type,
        let value = node.value as? any Encodable
      {
        do {
          let text = String(decoding: try encoder.encode(value), as: UTF8.self)
          snapshot.tasks.entries[name] = WorkflowSnapshot.Entry(
            isFinished: true, result: text, finishDate: node.finishDate)
        } catch {
          throw WorkflowSnapshotError(.notEncodable, name: name, cause: error)
        }
      }
    }
    return snapshot
  }

  /// Gives tasks the results that a snapshot has for their names: they are finished, and a run goes on after them. All
  /// other tasks are as if they had never run.
  ///
  /// Either everything is restored or, when it throws, nothing; only a subworkflow may have been restored already when
  /// another thread starts the workflow during this call. Nothing is started, and no event is sent. A task may be finished
  /// then whose prerequisite has to run again, because that one's result can not be stored; it keeps its result. The task of
  /// a subworkflow is finished only if every task in it is.
  ///
  /// - Returns: the names in the snapshot of which there is no such task, those of subworkflows after the name of their
  ///   task and a slash.
  /// - Throws: ``WorkflowSnapshotError``, if the workflow is running, or if a stored result can not be decoded.
  @discardableResult
  public func restore(_ snapshot: WorkflowSnapshot) throws -> [String] {
    var restoration = Restoration()
    restoration.pending.append((self, snapshot, path: ""))
    while let (workflow, snapshot, path) = restoration.pending.popLast() {
      try workflow.prepare(&restoration, snapshot, path: path)
    }
    for step in restoration.steps where step.workflow.isRunning {
      throw WorkflowSnapshotError(.workflowIsRunning, name: step.workflow.name)
    }
    // Those inside first, so that no task is finished whose workflow is not.
    for step in restoration.steps.reversed() {
      // A subworkflow with results that could not be stored has to run again, and its task with it.
      let results = step.results.filter { ($0.value as? Workflow)?.hasUnfinishedTasks != true }
      let isRestored = step.workflow.input { $0.restore(results) }
      // It was started just now.
      guard isRestored else { throw WorkflowSnapshotError(.workflowIsRunning, name: step.workflow.name) }
    }
    follow(.reset, if: true)
    return restoration.unused.sorted()
  }

  /// What is to be done to the workflow and those inside of it.
  private struct Restoration {
    /// Workflows that have to be prepared, each with its snapshot.
    var pending: [(workflow: Workflow, snapshot: WorkflowSnapshot, path: String)] = []
    var steps: [(workflow: Workflow, results: [RestoredResult])] = []
    var unused: [String] = []
  }

  private func prepare(_ restoration: inout Restoration, _ snapshot: WorkflowSnapshot, path: String) throws {
    let nodes = storage.withLock(\.state.nodes)
    var entries = snapshot.tasks.entries
    var results: [RestoredResult] = []
    for (index, node) in nodes.enumerated() {
      let name = node.plan.name ?? TaskNames.automatic(index)
      let entry = entries[name]
      if let subworkflow = node.plan.subworkflow {
        let inside = entry?.subworkflow ?? WorkflowSnapshot(workflowName: name)
        restoration.pending.append((subworkflow, inside, path: "\(path)\(name)/"))
        if entry?.subworkflow != nil { entries[name] = nil }
        guard entry?.subworkflow != nil, entry?.isFinished == true else { continue }
        results.append(RestoredResult(task: index, value: subworkflow, finishDate: entry?.finishDate))
      } else if let entry, entry.isFinished {
        let value = try decode(entry, as: node.plan.handle, name: "\(path)\(name)")
        results.append(RestoredResult(task: index, value: value, finishDate: entry.finishDate))
        entries[name] = nil
      }
    }
    restoration.steps.append((self, results))
    restoration.unused += entries.keys.map { "\(path)\($0)" }
  }

  private func decode(
    _ entry: WorkflowSnapshot.Entry, as handle: AnyWorkflowTask.Type, name: String
  ) throws -> any Sendable {
    guard let text = entry.result else {
      if handle.valueType == Void.self { return () }
      throw WorkflowSnapshotError(
        .notDecodable, name: name, detail: "there is none, and the task's type is \(handle.valueType)")
    }
    do {
      return try handle.decode(text)
    } catch let error as WorkflowSnapshotError {
      throw WorkflowSnapshotError(.notDecodable, name: name, detail: error.detail)
    } catch {
      throw WorkflowSnapshotError(.notDecodable, name: name, cause: error)
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
  /// Tasks have finished in another process; the others have never run. False if the workflow is running.
  mutating func restore(_ results: [RestoredResult]) -> Bool {
    guard run == nil, liveCount == 0 else { return false }
    effects.released += fulfilments.values
    fulfilments = [:]
    settlement = nil
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
