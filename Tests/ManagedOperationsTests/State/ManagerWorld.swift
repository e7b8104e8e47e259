import CompositeOperations
import TestSupport

@testable import ManagedOperations

/// What a manager's shell does with the effects of its state, without threads: what is asked for
/// waits, and is done in a random order, as threads would.
struct ManagerWorld {
  enum Pending {
    case action(ManagerEffects<Int>.Action)
    case ticket
    /// The drain asks for the next task.
    case drain(Int)
    /// The interceptors have been asked about a task.
    case answer(Int, drain: Int)
    case timer(Int, number: Int)
    /// An attempt is under way.
    case attempt(Int)
    case asks(Int, [Int])
    case reaction(Int)
    /// A handle has settled, and tells so.
    case announcement(Int)
  }

  var state: ManagerState<Int>
  var random: SeededRandomNumberGenerator
  var pending: [Pending] = []
  private(set) var complaints: [String] = []
  private(set) var ids: [Int] = []
  private var started: Set<Int> = []
  /// How often the handle of each was settled.
  private(set) var settled: [Int: Int] = [:]
  private var announced: Set<Int> = []
  private var executing: Set<Int> = []
  private(set) var maxReactions = 0

  init(seed: UInt64) {
    random = SeededRandomNumberGenerator(seed: seed)
    state = ManagerState(
      interceptorCount: Int.random(in: 0...2, using: &random),
      reactors: (0..<Int.random(in: 0...2, using: &random)).map { index in
        ReactorConfiguration(suspendsQueue: index == 0, reinterceptsOnRequeue: index == 1, maxRequeues: 2)
      })
  }

  // MARK: - What users do

  mutating func add() {
    let id = ids.count + 1
    ids.append(id)
    let delay: Duration? = chance(4) ? .seconds(1) : nil
    let timeout: Duration? = chance(3) ? .seconds(1) : nil
    if !state.add(id, id, delay: delay, timeout: timeout) {
      settled[id] = 1
      announced.insert(id)
    }
    collect()
  }

  mutating func start(_ id: Int) {
    // A handle that has settled does not start.
    guard settled[id] == nil, started.insert(id).inserted else { return }
    _ = state.start(id)
    collect()
  }

  mutating func cancel(_ id: Int) {
    if state.cancel(id), settled[id] == nil { settle(id) }
    collect()
  }

  mutating func settleFromOutside(_ id: Int) {
    if settled[id] == nil { settle(id) }
  }

  mutating func releaseBatch() {
    guard state.interceptorCount > 0 else { return }
    let index = Int.random(in: 0..<state.interceptorCount, using: &random)
    let before = state.batches[index].count
    let count = state.release(chance(2) ? 1 : .max, of: index)
    if count > before { complain("released \(count) of \(before)") }
    collect()
  }

  mutating func toggleSuspension() {
    state.setSuspended(!state.isSuspended)
    collect()
  }

  mutating func close(_ closing: ManagerState<Int>.Closing) {
    let all = state.close(closing)
    collect()
    if closing == .stopped { for id in all { cancel(id) } }
  }

  // MARK: - What happens

  /// Does one of the things that wait. False if there is nothing.
  mutating func step() -> Bool {
    guard !pending.isEmpty else { return false }
    let next = pending.remove(at: Int.random(in: 0..<pending.count, using: &random))
    perform(next)
    collect()
    check()
    return true
  }

  private mutating func perform(_ next: Pending) {
    switch next {
    case .action(let action): perform(action)
    case .ticket:
      guard let (id, _) = state.claim() else { return }
      if !executing.insert(id).inserted { complain("\(id) executes twice") }
      if state.isSuspended || state.suspendingCount > 0 { complain("\(id) starts though nothing may") }
      pending.append(.attempt(id))
    case .drain(let number):
      guard let (id, _) = state.nextToIntercept(drain: number) else { return }
      pending.append(.answer(id, drain: number))
    case .answer(let id, let drain):
      if chance(8) {
        state.interceptionFailed(id, drain: drain, interceptor: 0, TestError.first)
      } else if chance(8) {
        state.interceptionTimedOut(id, drain: drain, interceptor: 0)
      } else {
        var answer = InterceptAnswer()
        for index in 0..<state.interceptorCount {
          let command = InterceptCommand.allCases.randomElement(using: &random)!
          answer.add(command, of: index, batchCount: state.batches[index].count)
        }
        let key = ReactionKey(reactor: 1, key: chance(2) ? "a" : "b")
        state.intercepted(id, drain: drain, answer, outdatingKeys: state.reactors.count > 1 ? [key] : [])
      }
      pending.append(.drain(drain))
    case .timer(let id, let number): state.timerFired(id, number: number)
    case .attempt(let id):
      executing.remove(id)
      if let asked = state.attemptEnded(id) { pending.append(.asks(id, asked)) }
    case .asks(let id, let asked):
      let asks = asked.filter { _ in chance(2) }.map { ($0, [nil, "a", "b"].randomElement(using: &random)!) }
      state.conclude(id, asks: asks)
    case .reaction(let number):
      let answers: [ReactionAnswer] = [
        .answered(.deliver), .answered(.requeue()), .answered(.requeue(after: .seconds(1))),
        .answered(.fail(TestError.second)), .threw(TestError.first), .timedOut,
      ]
      state.reactionEnded(number, answers.randomElement(using: &random)!)
    case .announcement(let id):
      announced.insert(id)
      state.announced(id)
    }
  }

  private mutating func perform(_ action: ManagerEffects<Int>.Action) {
    switch action {
    case .setTimer(let id, let number, _): pending.append(.timer(id, number: number))
    case .dropTimer, .cancelOperation, .cancelDrain, .cancelReaction: break
    case .settle(let id, _): if settled[id] == nil { settle(id) }
    case .startDrain(let number): pending.append(.drain(number))
    case .startReaction(let number, _, _, _, _): pending.append(.reaction(number))
    }
  }

  private mutating func settle(_ id: Int) {
    settled[id, default: 0] += 1
    pending.append(.announcement(id))
  }

  private mutating func collect() {
    let effects = state.conclude()
    pending += effects.actions.map(Pending.action)
    pending += Array(repeating: .ticket, count: effects.tickets)
    for id in effects.gone where !announced.contains(id) { complain("\(id) is gone before it has settled") }
  }

  // MARK: - What must hold

  private mutating func check() {
    maxReactions = max(maxReactions, state.reactions.count)
    let held = state.jobs.values.count { if case .held = $0.phase { true } else { false } }
    if held != state.heldCount { complain("\(held) are held, \(state.heldCount) are counted") }
    let active = state.jobs.values.count { $0.isStarted }
    if active != state.activeCount { complain("\(active) are active, \(state.activeCount) are counted") }
    let keys = state.reactions.values.compactMap { reaction in
      reaction.key.map { ReactionKey(reactor: reaction.reactor, key: $0) }
    }
    if Set(keys).count != keys.count { complain("two reactions of one key") }
    let ready = state.jobs.values.count { $0.phase == .ready }
    if state.mayExecute, state.tickets < ready { complain("\(state.tickets) tickets for \(ready) that are ready") }
    if ready > state.ready.count { complain("\(state.ready.count) places for \(ready) that are ready") }
    let intercepting = state.jobs.values.count { $0.phase == .intercepting }
    if intercepting > 1 { complain("\(intercepting) are being intercepted") }
  }

  /// Lets everything that was started come to its end, and says what is wrong then.
  mutating func finish() {
    state.setSuspended(false)
    collect()
    var rounds = 0
    repeat {
      while step() {
        rounds += 1
        if rounds > 100_000 { return complain("does not come to an end") }
      }
      while state.interceptorCount > 0, state.heldCount > 0 { releaseBatch() }
    } while !pending.isEmpty
    if !state.isIdle { complain("not idle at the end: \(state.jobs), \(state.reactions)") }
    for id in ids {
      let isExpected = started.contains(id) || state.closing != nil || settled[id] != nil
      if isExpected, settled[id] != 1 { complain("\(id) was settled \(settled[id] ?? 0) times") }
    }
    if state.jobs.count != ids.count(where: { settled[$0] == nil }) { complain("\(state.jobs.count) jobs are left") }
  }

  private mutating func complain(_ text: String) {
    if complaints.count < 5 { complaints.append(text) }
  }

  mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
}
