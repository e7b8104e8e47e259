import Foundation
import TestSupport

@testable import CompositeOperations

/// The shared state of the operations of one mix of trees, and the records of each.
final class PolicyMixWorld: Sendable {
  /// The record of one operation.
  final class Subject: Sendable {
    let operation: SimpleOperation<Int>
    let completion = CompletionSpy<Int>()
    let events = Locked<[OperationEvent]>([])
    /// How often its body was run.
    let bodies: Locked<Int>

    init(_ operation: SimpleOperation<Int>, bodies: Locked<Int>) {
      self.operation = operation
      self.bodies = bodies
    }

    /// What is wrong, once all has ended.
    var complaint: String? {
      guard operation.isFinished, let outcome = operation.outcome else { return "has not settled" }
      let told = events.current
      let settlements = told.count { $0.kind == .settled }
      guard settlements == 1, let last = told.last?.outcome else { return "was told \(told)" }
      for (name, number) in [("started", 1), ("cancelled", 1)] where told.count(where: { "\($0)" == name }) > number {
        return "was told \(told)"
      }
      if told.dropFirst().contains(where: { $0.kind == .started }) {
        return "started late: \(told)"
      }
      if "\(last.map { $0 as! Int })" != "\(outcome)" { return "was told \(told), and is \(outcome)" }
      if completion.count != 1 || "\(completion.outcomes[0])" != "\(outcome)" {
        return "completed with \(completion.outcomes), and is \(outcome)"
      }
      if operation.isCancelled != outcome.isCancelled { return "isCancelled is \(operation.isCancelled): \(outcome)" }
      if bodies.current > 1 { return "ran \(bodies.current) times" }
      if operation.fractionCompleted > 1 || outcome.value != nil && operation.fractionCompleted != 1 {
        return "is done to \(operation.fractionCompleted)"
      }
      return nil
    }
  }

  private struct State {
    var subjects: [Subject] = []
    var shared: [Int: SimpleOperation<Int>] = [:]
    var composites: [CompositeOperation] = []
    var running: [Int: [Int: Int]] = [:]
    var complaints: [String] = []
    var lastNumber = 0
  }

  let clock = ManualClock()
  let registry = ExclusionRegistry()
  let breaker: CircuitBreaker
  let limits: [Int]
  let queues: [OperationQueue]
  /// For operations that other code runs.
  let otherQueue = OperationQueue()
  private let random: Locked<SeededRandomNumberGenerator>
  private let state = Locked(State())

  static func category(_ number: Int) -> ExclusionCategory { ExclusionCategory("category \(number)") }

  init(seed: UInt64) {
    var random = SeededRandomNumberGenerator(seed: seed)
    breaker = CircuitBreaker(failureThreshold: 3, resetAfter: .seconds(2), clock: clock)
    limits = (0..<PolicyMix.categoryCount).map { _ in random.number(1...2) }
    queues = (1...4).map { OperationQueue(limit: $0) }
    self.random = Locked(random)
    for (number, limit) in limits.enumerated() {
      registry.setLimit(limit, for: PolicyMixWorld.category(number))
    }
  }

  func nextNumber() -> Int {
    state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
  }

  func chance(_ percent: Int) -> Bool { random.withLock { $0.chance(percent) } }

  // MARK: - Operations

  /// Records an operation, and adds an observer that reacts.
  func note(_ operation: SimpleOperation<Int>, _ extras: PolicyMix.Extras = .init(), bodies: Locked<Int> = Locked(0)) {
    let subject = Subject(operation, bodies: bodies)
    operation.name = "number \(nextNumber())"
    operation.completion = subject.completion.completion
    operation.addObserver { [weak subject] event in subject?.events.withLock { $0.append(event) } }
    state.withLock { $0.subjects.append(subject) }
    guard let (reaction, number) = extras.reaction else { return }
    // Leaves are settled by their own work, which is counted.
    if case .settle = reaction, !(operation is ComposedOperation<Int>) { return }
    react(reaction, at: number, operation)
  }

  private func react(_ reaction: PolicyMix.Reaction, at number: Int, _ operation: SimpleOperation<Int>) {
    let count = Locked(0)
    let token = Locked<ObservationToken?>(nil)
    let added = operation.addObserver { [weak operation, weak self] _ in
      guard let operation, let self, count.increment() == number else { return }
      switch reaction {
      case .cancel: operation.cancel()
      case .settle: operation.finish(with: -1)
      case .addObserver: operation.addObserver { _ in operation.cancel() }
      case .leave: token.current?.remove()
      case .cancelAnother: cancelAny()
      case .suspendAny: suspendAny()
      case .readProgress: _ = (operation.progress.fractionCompleted, operation.fractionCompleted)
      }
    }
    if case .leave = reaction { token.withLock { $0 = added } }
  }

  func cancelAny() {
    let index = random.withLock { $0.number(0...1 << 30) }
    let subjects = state.withLock { $0.subjects }
    if !subjects.isEmpty { subjects[index % subjects.count].operation.cancel() }
  }

  func note(_ composite: CompositeOperation) { state.withLock { $0.composites.append(composite) } }

  /// Suspends a composite until all are resumed.
  func suspendAny() {
    let index = random.withLock { $0.number(0...1 << 30) }
    let composites = state.withLock { $0.composites }
    if !composites.isEmpty { composites[index % composites.count].isSuspended = true }
  }

  /// Suspends a queue until all are resumed, or changes its limit.
  func changeAnyQueue() {
    let (index, limit) = random.withLock { ($0.number(0...queues.count - 1), $0.number(0...4)) }
    if limit == 0 {
      queues[index].isSuspended = true
    } else {
      queues[index].maxConcurrentOperationCount = limit
    }
  }

  func resumeAll() {
    for queue in queues { queue.isSuspended = false }
    for composite in state.withLock({ $0.composites }) { composite.isSuspended = false }
  }

  /// The operation that all users of this number share.
  func shared(_ number: Int, _ make: () -> SimpleOperation<Int>) -> SimpleOperation<Int> {
    if let known = state.withLock({ $0.shared[number] }) { return known }
    let made = make()
    let (operation, isNew) = state.withLock { state in
      if let known = state.shared[number] { return (known, false) }
      state.shared[number] = made
      return (made, true)
    }
    if isNew { note(made) }
    return operation
  }

  /// Starts the operations that nothing has run.
  func startWhatIsLeft() {
    for operation in state.withLock({ $0.shared.values.map(\.self) }) where !operation.isTaken { operation.start() }
  }

  // MARK: - Exclusion

  func enter(_ holders: [Int: Int]) {
    state.withLock { state in
      for (category, holder) in holders {
        state.running[category, default: [:]][holder, default: 0] += 1
        let count = state.running[category]!.count
        if count > limits[category] { state.complaints.append("category \(category) is held by \(count)") }
      }
    }
  }

  func leave(_ holders: [Int: Int]) {
    state.withLock { state in
      for (category, holder) in holders {
        state.running[category]![holder]! -= 1
        if state.running[category]![holder] == 0 { state.running[category]![holder] = nil }
      }
    }
  }

  // MARK: - The end

  var isOver: Bool { state.withLock { $0.subjects }.allSatisfy { $0.operation.isFinished } }

  var complaints: [String] {
    let (subjects, complaints) = state.withLock { ($0.subjects, $0.complaints) }
    return complaints
      + subjects.compactMap { subject in subject.complaint.map { "\(subject.operation): \($0)" } }
  }

  var unfinished: [String] {
    state.withLock { $0.subjects }.filter { !$0.operation.isFinished }.map { "\($0.operation)" }
  }

  /// Releases all operations, which reference this world.
  func forget() {
    let state = self.state.withLock { state in
      defer { state = State() }
      return state
    }
    withExtendedLifetime(state) {}
  }

  var references: [WeakReference<SimpleOperation<Int>>] {
    state.withLock { $0.subjects }.map { WeakReference($0.operation) }
  }
}
