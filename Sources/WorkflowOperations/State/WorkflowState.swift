import CompositeOperations
import Foundation

/// A workflow as a value: its tasks, its attempts and its runs.
///
/// A task, and the inputs that move it:
///
/// ```
///        ┌──────── a prerequisite is reset ─────────┐
///        ▼                                          │
///     pending ── all prerequisites finished ──▶ ready ── start, claim ──▶ executing ─┬─▶ finished
///        │                                          │                         │       └─▶ failed
///        └──────────────── cancel ──────────────────┴───────── cancel ────────┴─▶ cancelled
///
///     failed, cancelled ── retry ──▶ pending or ready, and wanted
///     any ── reset ──▶ pending or ready
/// ```
///
/// A *wanted* task is ready and will run: it was started, or it became ready in a run. The state
/// hands its place to the run's operation, which calls `claim` when a worker or a slot of the queue
/// is free for it. A condition needs neither: it executes as soon as it is wanted.
///
/// An *attempt* has a slot here from `claim` until its operation has settled. The slot that a task
/// names is that of the attempt that counts; all other attempts are stale, and the run only waits
/// for them.
///
/// A *run* begins when its operation starts, and is current until no task executes, waits or is
/// wanted. A run whose operation is cancelled drains: it waits for its attempts, and a new run may
/// begin meanwhile.
///
/// Every input is a mutating method, after which the caller calls `conclude()`, which returns what
/// it has to do. Tasks are known by their places, which grow along the edges of the graph. No input
/// recurses.
struct WorkflowState: Sendable {
  struct Run: Sendable {
    let number: Int
    /// Whether tasks that can run start by themselves, however they came to be ready.
    var startsEverything: Bool
    /// The whole workflow was cancelled, and nothing is to run since.
    var wasCancelled = false
    /// Whether tasks that are added, or become ready, do not start by themselves: the workflow was
    /// cancelled, or a task failed, and that cancels the rest.
    var isClosing = false
  }

  /// An attempt whose operation has not settled.
  struct Attempt: Sendable {
    var task: Int
    var number: Int
    var run: Int
    /// The operation; nil until the user's code has made it.
    var operation: Operation?
    /// Whether it was cancelled before there was an operation.
    var isCancelled = false
    /// The task-local values of its operation.
    var context: ContextValues?
  }

  var nodes: [TaskNode] = []
  var dependents = TaskDependents()
  var counts = TaskCounts()
  /// The tasks that were given a name, by that name.
  var named: [String: Int] = [:]
  /// The values of fulfilled conditions.
  var fulfilments: [Int: any Sendable] = [:]

  var attempts: [Attempt?] = []
  var freeSlots: [Int] = []
  /// How many attempts have not settled, of all runs.
  var liveCount = 0
  /// How many tasks are wanted.
  var wantedCount = 0
  /// How many conditions execute.
  var waitingCount = 0

  var run: Run?
  /// How many attempts have not settled of each run that was cancelled.
  var draining: [Int: Int] = [:]
  var lastRun = 0
  /// The task-local values of the last run, for hooks that are called after the run.
  var runContext: ContextValues?
  /// The task-local values of tasks that were retried, until the run ends: those of who retried.
  private(set) var retryContexts: [Int: ContextValues] = [:]
  /// How the last run ended; nil if there was none, or if something has changed since.
  var settlement: WorkflowSettlement?
  /// Whether anything was reset or restored while no run was under way, since the last attempt of
  /// this workflow's task in another one was made or has begun.
  var wasResetSinceRun = false
  /// Whether a retry has begun a run, or is about to, since then.
  var wasRetriedSinceRun = false
  var startDate: Date?
  var finishDate: Date?
  var failurePolicy = FailurePolicy.waitForAll

  /// Whether there is a hook, a delegate or a stream. If not, no event is made.
  var isObserved = false
  /// What has been decided and not done yet, in order.
  var outbox = Outbox<OutboxEntry>()
  /// The number of the last event that was put into the outbox.
  var lastEvent = 0
  /// Whether the end of the run waits in the outbox for events that come before it.
  var endIsPosted = false

  /// Wanted tasks that this input has not handed out yet.
  var wants: [Int] = []
  var effects = WorkflowEffects()
  /// What happened in this input, in order.
  var events: [WorkflowEvent.Content] = []
  /// The number of the last walk that visited each task.
  var visits: [Int] = []
  var lastVisit = 0

  /// Whether a run is under way, or attempts of a cancelled one are waited for.
  var isRunning: Bool { run != nil || !draining.isEmpty }

  /// Begins to note what the task of this workflow in another one has to follow when its attempt
  /// has ended.
  mutating func beginFollowing() {
    wasResetSinceRun = false
    wasRetriedSinceRun = false
  }

  /// Whether it was retried when its last run had ended, and that goes on or has healed it: a task
  /// that ends with the outcome of that run runs again.
  var goesOnAfterRun: Bool {
    wasRetriedSinceRun && (run.map { !$0.wasCancelled } ?? (counts[.finished] == nodes.count))
  }

  // MARK: - Building blocks

  mutating func move(_ task: Int, to state: TaskNode.State) {
    counts[nodes[task].state] -= 1
    counts[state] += 1
    nodes[task].state = state
  }

  /// Tells what happened to the workflow.
  mutating func tell(_ event: WorkflowEvent.Content) {
    guard isObserved else { return }
    var event = event
    event.context = runContext
    events.append(event)
  }

  /// Tells what happened to a task, in its latest attempt.
  ///
  /// - Parameter ending: how it ended. Not evaluated if there is no observer.
  mutating func tell(
    _ kind: WorkflowEvent.Kind.Value, of task: Int,
    ending: @autoclosure () -> WorkflowEvent.Content.Ending? = nil
  ) {
    guard isObserved else { return }
    events.append(
      WorkflowEvent.Content(
        kind: kind, task: task, attempt: nodes[task].attempt, ending: ending(), context: context(of: task)))
  }

  /// Tells that the whole workflow was reset or retried before the events of `body`, if that
  /// changes anything.
  ///
  /// - Parameter context: the task-local values of who retries.
  mutating func tellFirst(
    _ kind: WorkflowEvent.Kind.Value, in context: ContextValues? = nil, if body: (inout WorkflowState) -> Bool
  ) -> Bool {
    let place = events.count
    guard body(&self) else { return false }
    if isObserved { events.insert(WorkflowEvent.Content(kind: kind, context: inRun(context)), at: place) }
    return true
  }

  /// The task-local values of a task.
  func context(of task: Int) -> ContextValues? { inRun(retryContexts[task]) }

  /// The task-local values of who retries, or of the run where there are none.
  private func inRun(_ context: ContextValues?) -> ContextValues? {
    context.map { ContextValues.merge($0, into: runContext) } ?? runContext
  }

  mutating func setRetryContext(_ context: ContextValues?, of task: Int) {
    if let replaced = retryContexts[task] { effects.released.append(replaced) }
    retryContexts[task] = context
  }

  mutating func forgetRetryContexts() {
    for context in retryContexts.values { effects.released.append(context) }
    retryContexts = [:]
  }

  /// Marks a ready task to run.
  mutating func want(_ task: Int) {
    assert(nodes[task].state == .ready, "A task that is \(nodes[task].state) cannot be wanted")
    guard !nodes[task].isWanted else { return }
    nodes[task].isWanted = true
    wantedCount += 1
    wants.append(task)
  }

  mutating func unwant(_ task: Int) {
    guard nodes[task].isWanted else { return }
    nodes[task].isWanted = false
    wantedCount -= 1
  }

  /// The task and everything that depends on it, each once.
  mutating func reach(from task: Int) -> [Int] {
    lastVisit += 1
    if visits.count < nodes.count { visits += [Int](repeating: 0, count: nodes.count - visits.count) }
    visits[task] = lastVisit
    var reached = [task]
    var next = 0
    while next < reached.count {
      for dependent in dependents[reached[next]] where visits[dependent] != lastVisit {
        visits[dependent] = lastVisit
        reached.append(dependent)
      }
      next += 1
    }
    return reached
  }

  // MARK: - The end of every input

  /// Lets wanted tasks run, ends the run if nothing is left of it, and returns what the caller has
  /// to do.
  mutating func conclude() -> WorkflowEffects {
    if !wants.isEmpty {
      if run != nil {
        runWanted()
      } else if wantedCount == 0 {
        wants = []
      } else if effects.start == nil {
        effects.start = .wanted
      }
    }
    let endsRun = run != nil && liveCount + wantedCount + waitingCount == 0
    if outbox.isDelivering || !events.isEmpty {
      post(end: endsRun)
    } else if endsRun {
      endRun()
      // The end of the run is an event, too.
      if !events.isEmpty { post(end: false) }
    }
    var concluded = WorkflowEffects()
    swap(&concluded, &effects)
    return concluded
  }

  /// Lets wanted conditions execute, and hands the other wanted tasks to the run.
  private mutating func runWanted() {
    guard let run else { return }
    effects.ready.reserveCapacity(wants.count)
    var next = 0
    while next < wants.count {
      let task = wants[next]
      next += 1
      guard nodes[task].isWanted else { continue }
      if nodes[task].plan.isCondition {
        unwant(task)
        execute(task)
        waitingCount += 1
        if let value = fulfilments[task] { fulfilled(task, value) }
      } else if nodes[task].handedInTo != run.number {
        nodes[task].handedInTo = run.number
        effects.ready.append(task)
      }
    }
    wants.removeAll(keepingCapacity: wants.count < 1024)
    effects.run = run.number
  }

  /// Puts what has to happen in order into the outbox.
  private mutating func post(end: Bool) {
    for event in events {
      lastEvent += 1
      outbox.append(.event(event, number: lastEvent))
    }
    events = []
    if !effects.ready.isEmpty { outbox.append(.handIn(effects.ready, run: effects.run)) }
    outbox.append(contentsOf: effects.ends.map { .end($0) })
    if end, !endIsPosted {
      endIsPosted = true
      outbox.append(.endIfIdle)
    }
    effects.ready = []
    effects.ends = []
    effects.delivers = outbox.beginDelivery()
  }

  /// Ends the run, if nothing is left of it: all of its events have been passed on.
  mutating func endIfIdle() {
    endIsPosted = false
    if run != nil, liveCount + wantedCount + waitingCount == 0 { endRun() }
  }
}
