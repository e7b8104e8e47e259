import CompositeOperations
import Foundation

/// A workflow as a value: its tasks, its attempts and its runs.
///
/// A task, and the inputs that move it:
///
/// ```
///            ┌───────── a prerequisite is reset ──────────┐
///            ▼                                            │
///         pending ──── all prerequisites finished ────▶ ready ──── start, claim ────▶ executing ──▶ finished
///            │                                            │                               ├───────▶ failed
///            └───────────────── cancel ───────────────────┴────────────────── cancel ─────┴───────▶ cancelled
///
///         failed, cancelled ── retry ──▶ pending or ready, and wanted        any ── reset ──▶ pending or ready
/// ```
///
/// A *wanted* task is ready and will run: it was started, or it became ready in a run. The run's operation is told its
/// place, and comes back with it, `claim`, when a worker or a slot of the queue is free for it. A condition needs
/// neither: it executes as soon as it is wanted.
///
/// An *attempt* has a slot here from `claim` until its operation has settled. The slot that a task names is the one of
/// the attempt that counts; all others are stale, and only waited for.
///
/// A *run* begins with the start of its operation, and is current until nothing executes, waits or is wanted any more.
/// One whose operation is cancelled only drains: its attempts are waited for, and a new run may begin meanwhile.
///
/// Every input is a mutating method that ends with `conclude()`, which returns what its caller has to do. All tasks are
/// known by their places, which grow along the edges of the graph. No input recurses.
struct WorkflowState: Sendable {
  struct Run: Sendable {
    let number: Int
    /// Whether tasks that can run start by themselves, however they came to be ready.
    var startsEverything: Bool
    /// All of it was cancelled.
    var wasCancelled = false
    /// A task failed, and that ends the rest.
    var isClosing = false
  }

  /// An attempt whose operation has not settled.
  struct Attempt: Sendable {
    var task: Int
    var number: Int
    var run: Int
    /// What runs; nil until the user's code has made it.
    var operation: Operation?
    /// Whether it was cancelled before there was an operation.
    var isCancelled = false
  }

  var nodes: [TaskNode] = []
  var dependents = TaskDependents()
  var counts = TaskCounts()
  /// The tasks with a name of their own, by that.
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
  /// How the last run ended; nil if there was none, or if something has changed since.
  var settlement: WorkflowSettlement?
  /// Whether anything was reset since the last run ended.
  var wasResetSinceRun = false
  var startDate: Date?
  var finishDate: Date?
  var failurePolicy = FailurePolicy.waitForAll

  /// Whether anybody would be told.
  var isObserved = false
  /// What has been decided and not been done, in order.
  var outbox = Outbox<OutboxEntry>()
  /// Whether the end of the run waits there for what has to be told before.
  var endIsPosted = false

  /// Wanted tasks that have not been dealt with yet.
  var wants: [Int] = []
  var effects = WorkflowEffects()
  var notices: [WorkflowNotice] = []
  /// The tasks that a walk has been to, by the number of that walk.
  var visits: [Int] = []
  var lastVisit = 0

  /// Whether a run is under way, or attempts of a cancelled one are waited for.
  var isRunning: Bool { run != nil || !draining.isEmpty }

  // MARK: - Building blocks

  mutating func move(_ task: Int, to state: TaskNode.State) {
    counts[nodes[task].state] -= 1
    counts[state] += 1
    nodes[task].state = state
  }

  mutating func tell(_ notice: WorkflowNotice) {
    if isObserved { notices.append(notice) }
  }

  /// Tells something before all that `body` has to tell, if that changes anything.
  mutating func tellFirst(_ notice: WorkflowNotice, if body: (inout WorkflowState) -> Bool) -> Bool {
    let place = notices.count
    guard body(&self) else { return false }
    if isObserved { notices.insert(notice, at: place) }
    return true
  }

  /// A ready task is to run.
  mutating func want(_ task: Int) {
    assert(nodes[task].state == .ready, "A task that is \(nodes[task].state) can not be wanted")
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

  /// Lets wanted tasks run, ends the run if nothing is left, and returns what there is to do.
  mutating func conclude(at date: @autoclosure () -> Date = Date()) -> WorkflowEffects {
    if !wants.isEmpty {
      if run != nil {
        runWanted(at: date())
      } else if wantedCount == 0 {
        wants = []
      } else if effects.start == nil {
        effects.start = .wanted
      }
    }
    let endsRun = run != nil && liveCount + wantedCount + waitingCount == 0
    if outbox.isDelivering || !notices.isEmpty {
      post(end: endsRun)
    } else if endsRun {
      endRun(at: date())
      // The end is to be told, too.
      if !notices.isEmpty { post(end: false) }
    }
    var concluded = WorkflowEffects()
    swap(&concluded, &effects)
    return concluded
  }

  /// Wanted conditions execute now; of the other tasks the run is told.
  private mutating func runWanted(at date: Date) {
    guard let run else { return }
    var next = 0
    while next < wants.count {
      let task = wants[next]
      next += 1
      guard nodes[task].isWanted else { continue }
      if nodes[task].plan.isCondition {
        unwant(task)
        execute(task, at: date)
        waitingCount += 1
        if let value = fulfilments[task] { fulfilled(task, value, at: date) }
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
    outbox.append(contentsOf: notices.map { .notice($0) })
    notices = []
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

  /// Everything that happened while the run went on has been told.
  mutating func endIfIdle(at date: @autoclosure () -> Date = Date()) {
    endIsPosted = false
    if run != nil, liveCount + wantedCount + waitingCount == 0 { endRun(at: date()) }
  }
}
