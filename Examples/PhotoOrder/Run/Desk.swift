import CompositeOperations
import ExampleSupport
import Foundation
import WorkflowOperations

/// Where commands are carried out, and where is known what can still happen by itself.
///
/// Used by one task only, the one that is told of everything through `take(_:)`.
final class Desk {
  /// What can happen without another command.
  enum Situation {
    /// Tasks are at work, or will be.
    case moving
    /// Whatever runs waits: for a condition, or for the release of a hold.
    case stalled
    /// Nothing runs.
    case ended
  }

  let order: OrderWorkflow
  let tasks: [AnyWorkflowTask]
  private let bench: Workbench
  private let paths: [String]
  private let feed: EventFeed

  /// How much of the feed has come here.
  private var taken = 0
  /// How the tasks stand after what has come here; pending and ready are one, for both have no
  /// event.
  private var known: [AnyWorkflowTask.State]
  /// How often each task has started.
  private var attempts: [Int]
  /// The tasks that will not run when they are ready, unless they are started.
  private var idle: Set<Int>

  /// - Parameter paths: the photos with which their conditions are fulfilled.
  init(_ order: OrderWorkflow, bench: Workbench, paths: [String], feed: EventFeed) {
    self.order = order
    self.bench = bench
    self.paths = paths
    self.feed = feed
    tasks = order.workflow.tasks
    known = tasks.map { _ in .pending }
    attempts = tasks.map { _ in 0 }
    idle = Set(tasks.indices)
  }

  func isCondition(_ task: Int) -> Bool { TaskName.isCondition(tasks[task].name) }

  func standing(of task: Int) -> Standing {
    Standing(
      tasks[task].state, isCondition: isCondition(task), isStopped: bench.holds.isStopped(tasks[task].name))
  }

  func isHeld(_ task: Int) -> Bool { bench.holds.isHeld(tasks[task].name) }

  // MARK: - What happened

  /// Takes the next part of the feed. Returns the line that tells of it.
  func take(_ notice: Notice) -> String {
    taken += 1
    guard let task = notice.task else {
      if case .workflowEnded(let how) = notice.kind { return "\(order.workflow.name): \(how)" }
      return "\(order.workflow.name): started"
    }
    let name = tasks[task].name
    switch notice.kind {
    case .started:
      known[task] = .executing
      attempts[task] += 1
      guard !isCondition(task) else { return "\(name): waits" }
      return attempts[task] == 1 ? "\(name): started" : "\(name): started (attempt \(attempts[task]))"
    case .finished:
      known[task] = .finished
      for dependent in tasks[task].dependents { idle.remove(place(of: dependent)) }
      return "\(name): finished"
    case .failed(let error):
      known[task] = .failed
      return "\(name): failed: \(Self.text(error))"
    case .cancelled:
      known[task] = .cancelled
      return "\(name): cancelled"
    case .reset:
      known[task] = .pending
      return "\(name): reset"
    case .retried:
      known[task] = .pending
      return "\(name): will run again"
    case .discarded(let attempt):
      return "\(name): attempt \(attempt) has ended, and does not count"
    case .workflowStarted, .workflowEnded:
      preconditionFailure("Events of the workflow have no task")
    }
  }

  /// An error in one line, which moves no cursor: the names in it may come from strangers.
  static func text(_ error: any Error) -> String {
    Wording.plain("\(error)".split(whereSeparator: \.isNewline).joined(separator: " "))
  }

  private func place(of task: AnyWorkflowTask) -> Int {
    tasks.firstIndex(of: task) ?? 0
  }

  /// Whether everything that was told so far has come here.
  var isUpToDate: Bool { taken == feed.count }

  /// Whether what has come here tells how a task stands.
  func hasTold(_ task: Int) -> Bool { known[task] == Self.told(tasks[task].state) }

  /// What can still happen by itself; nil if that cannot be told before more of the feed has come,
  /// which it will.
  var situation: Situation? {
    let isRunning = order.workflow.isRunning
    let states = tasks.map(\.state)
    let standings = tasks.indices.map(standing)
    // Read twice, for the states are read one after the other: what was the same both times was so
    // at one moment.
    guard isUpToDate, states == tasks.map(\.state), states.map(Self.told) == known else { return nil }
    guard isRunning else { return feed.isBetweenRuns ? .ended : nil }
    let isMoving = standings.enumerated().contains { task, standing in
      standing == .executing || standing == .ready && !idle.contains(task)
    }
    if isMoving { return .moving }
    // Otherwise attempts that were cancelled end, and that will be told.
    return standings.contains { $0 == .waiting || $0 == .held } ? .stalled : nil
  }

  private static func told(_ state: AnyWorkflowTask.State) -> AnyWorkflowTask.State {
    state == .ready ? .pending : state
  }

  // MARK: - What is to be done

  /// Carries out a verb. Returns what there is to say about it; nil if what happens says it.
  func perform(_ action: Command.Action, on target: Command.Target) -> String? {
    switch target {
    case .all: performOnAll(action)
    case .task(let task): perform(action, on: task)
    }
    return remark(action, target)
  }

  private var remarks: [String] = []

  private func remark(_ action: Command.Action, _ target: Command.Target) -> String? {
    defer { remarks = [] }
    return remarks.isEmpty ? nil : remarks.joined(separator: "; ")
  }

  private func performOnAll(_ action: Command.Action) {
    switch action {
    case .start:
      idle = []
      order.workflow.start()
    case .cancel:
      order.workflow.cancel()
    case .retry:
      idle = []
      order.workflow.retry()
    case .reset:
      idle = Set(tasks.indices)
      order.workflow.reset()
    case .fulfill, .reject:
      for task in tasks.indices where isCondition(task) { perform(action, on: task) }
    case .hold, .release:
      for task in tasks.indices where !isCondition(task) { perform(action, on: task) }
    }
  }

  private func perform(_ action: Command.Action, on place: Int) {
    let task = tasks[place]
    let standing = standing(of: place)
    let isDone: Bool
    switch action {
    case .start:
      isDone = task.start()
      if isDone { idle.remove(place) }
    case .cancel:
      isDone = task.cancel()
    case .retry:
      for reached in reach(from: place) where [.failed, .cancelled].contains(tasks[reached].state) {
        idle.remove(reached)
      }
      isDone = task.retry()
    case .reset:
      idle.formUnion(reach(from: place))
      isDone = task.reset()
    case .fulfill:
      isDone = fulfill(place)
    case .reject:
      isDone = reject(place, with: Refused())
    case .hold(let progress):
      isDone = !isCondition(place)
      if isDone {
        bench.holds.hold(task.name, at: progress)
        remarks.append("\(task.name) will stop at \(Int(progress * 100)) %")
      }
    case .release:
      isDone = bench.holds.release(task.name)
    }
    if !isDone { remarks.append("nothing to \(action.name): \(task.name) is \(standing.rawValue)") }
  }

  /// The task and all that depend on it, directly or not.
  private func reach(from place: Int) -> Set<Int> {
    var reached: Set = [place]
    var next = [place]
    while let place = next.popLast() {
      for dependent in tasks[place].dependents.map({ self.place(of: $0) }) where reached.insert(dependent).inserted {
        next.append(dependent)
      }
    }
    return reached
  }

  // MARK: - Conditions

  private func fulfill(_ place: Int) -> Bool {
    let task = tasks[place]
    let isDone: Bool
    if task == order.metadata {
      isDone = order.metadata.fulfill(with: Metadata(paper: "glossy, 10 x 15 cm", copies: 1))
    } else if let index = order.photos.firstIndex(where: { $0 == task }) {
      do {
        isDone = order.photos[index].fulfill(with: try Photo(number: index + 1, path: paths[index]))
      } catch {
        // It was there when the program began.
        let isRejected = reject(place, with: FileError(error.problem, remedy: "Bring it back, then retry the task."))
        if !isRejected { remarks.append(Self.text(error)) }
        return true
      }
    } else {
      return false
    }
    if isDone, task.state != .finished { remarks.append("\(task.name) will have its value when it runs") }
    return isDone
  }

  private func reject(_ place: Int, with error: any Error) -> Bool {
    if tasks[place] == order.metadata { return order.metadata.reject(with: error) }
    return order.photos.first { $0 == tasks[place] }?.reject(with: error) ?? false
  }

  /// Why a condition was rejected.
  private struct Refused: Error, CustomStringConvertible {
    var description: String { "it was refused; retry it to wait again" }
  }

  // MARK: - The table

  func rows(at now: Date = Date()) -> [Row] {
    tasks.indices.map { index in
      let task = tasks[index]
      let standing = standing(of: index)
      var row = Row(name: task.name, standing: standing, note: note(index, standing))
      if !isCondition(index) { row.progress = progress(of: task, standing) }
      if standing != .cancelled, let start = task.startDate {
        row.elapsed = (task.finishDate ?? now).timeIntervalSince(start)
      }
      return row
    }
  }

  private func progress(of task: AnyWorkflowTask, _ standing: Standing) -> Double {
    switch standing {
    case .finished: 1
    case .executing, .held, .failed, .cancelled: bench.progress(of: task.name)
    case .pending, .ready, .waiting: 0
    }
  }

  private func note(_ index: Int, _ standing: Standing) -> String {
    let task = tasks[index]
    switch standing {
    case .pending:
      let missing = task.prerequisites.filter { $0.state != .finished }.map { "\(place(of: $0) + 1)" }
      return missing.isEmpty ? "" : "after \(missing.joined(separator: ", "))"
    case .failed:
      return task.error.map(Self.text) ?? ""
    case .finished:
      return result(of: task)
    case .executing, .held:
      return task.attempt > 1 ? "attempt \(task.attempt)" : ""
    case .ready, .waiting, .cancelled:
      return ""
    }
  }

  private func result(of task: AnyWorkflowTask) -> String {
    switch task.anyOutcome?.value {
    case let project as Project: Wording.plain(project.folder)
    case let photo as Photo: Wording.plain(photo.path)
    case let uploaded as UploadedPhoto: "\(uploaded.bytes) bytes, SHA-256 \(uploaded.sha256.prefix(8))"
    case let metadata as Metadata: "\(metadata.paper), copies: \(metadata.copies)"
    case let receipt as Receipt: "\(receipt.photos.count) photos"
    default: ""
    }
  }
}
