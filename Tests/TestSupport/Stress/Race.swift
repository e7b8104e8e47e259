import Foundation
import Synchronization

/// Runs small bodies at the same moment on several threads, thousands of times.
///
/// The threads live for the whole race and meet at a barrier before and after each round, so that a
/// round costs microseconds. Inside a round each body starts after a short random spin: this moves
/// the bodies against each other.
///
/// One race runs at a time: the threads spin at the barrier, and those of several races would take
/// the processors from each other.
public final class Race: Sendable {
  /// One round: the bodies of the threads, and the check after all have run.
  public struct Round: Sendable {
    /// The bodies, one for each thread.
    public let bodies: [@Sendable () -> Void]
    /// Returns what is wrong, or nil. Runs on the leading thread, which belongs to no test.
    public let check: @Sendable () -> String?

    /// Makes a round.
    public init(bodies: [@Sendable () -> Void], check: @escaping @Sendable () -> String?) {
      self.bodies = bodies
      self.check = check
    }
  }

  private static let line = Line()

  private let complaints = Locked<[String]>([])
  private let parties: Int
  private let round = Locked<Round?>(nil)
  private let arrived = Atomic(0)
  private let generation = Atomic(0)

  private init(parties: Int) {
    self.parties = parties
  }

  /// Runs `rounds` rounds on `threads` threads; `make` is called before each, with its number and a
  /// generator. Returns the complaints.
  public static func run(
    rounds: Int, threads: Int, seed: UInt64 = .random(in: 0...UInt64.max),
    _ make: @escaping @Sendable (Int, inout SeededRandomNumberGenerator) -> Round
  ) async -> [String] {
    await line.enter()
    defer { line.leave() }
    let race = Race(parties: threads)
    await withTaskGroup(of: Void.self) { group in
      for number in 1..<threads {
        group.addTask { await onThread { race.follow(number, rounds: rounds, seed: seed) } }
      }
      group.addTask { await onThread { race.lead(rounds: rounds, seed: seed, make) } }
    }
    return race.complaints.current
  }

  private func lead(rounds: Int, seed: UInt64, _ make: (Int, inout SeededRandomNumberGenerator) -> Round) {
    var random = SeededRandomNumberGenerator(seed: seed)
    for number in 0..<rounds {
      let next = make(number, &random)
      round.withLock { $0 = next }
      meet()
      run(0, of: next, &random)
      meet()
      round.withLock { $0 = nil }
      if let complaint = next.check() { complaints.withLock { $0.append("round \(number): \(complaint)") } }
    }
  }

  private func follow(_ number: Int, rounds: Int, seed: UInt64) {
    var random = SeededRandomNumberGenerator(seed: seed &+ UInt64(number))
    for _ in 0..<rounds {
      meet()
      if let current = round.current { run(number, of: current, &random) }
      meet()
    }
  }

  private func run(_ number: Int, of round: Round, _ random: inout SeededRandomNumberGenerator) {
    guard number < round.bodies.count else { return }
    for _ in 0..<random.number(0...60) { _ = generation.load(ordering: .relaxed) }
    round.bodies[number]()
  }

  /// Waits until all threads are here. They spin, because they arrive within microseconds of each
  /// other.
  private func meet() {
    let current = generation.load(ordering: .acquiring)
    if arrived.add(1, ordering: .acquiringAndReleasing).newValue == parties {
      arrived.store(0, ordering: .relaxed)
      generation.add(1, ordering: .releasing)
      return
    }
    while generation.load(ordering: .acquiring) == current { sched_yield() }
  }
}

/// Lets one in at a time, in the order in which they come.
private final class Line: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isTaken { state.waiting.append(continuation) }
        defer { state.isTaken = true }
        return !state.isTaken
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      if state.waiting.isEmpty {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}

/// `complaint` unless `condition` holds.
public func complaint(_ complaint: @autoclosure () -> String, unless condition: Bool) -> String? {
  condition ? nil : complaint()
}
