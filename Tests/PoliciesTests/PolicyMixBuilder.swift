import Foundation
import TestSupport

@testable import CompositeOperations

/// Makes the operations of a mix.
struct PolicyMixBuilder: Sendable {
  /// The holders around: for each category the number of the outermost operation that holds it.
  struct Holders: Sendable {
    var all: [Int: Int] = [:]
    /// The holders that surely hold while the operations inside run: none if an operation in
    /// between settles before.
    var sure: [Int: Int] = [:]

    func inside(_ extras: PolicyMix.Extras) -> Holders {
      extras.isSettledByOthers ? Holders(all: all) : self
    }
  }

  let world: PolicyMixWorld

  func operation(_ mix: PolicyMix, _ holders: Holders = Holders()) -> SimpleOperation<Int> {
    switch mix {
    case .leaf(let ending, let later):
      return leaf(ending, later: later, holders.sure)
    case .plain(let later):
      let plain = AsyncPlainOperation { plain in
        if later { DispatchQueue.global().async { plain.complete() } } else { plain.complete() }
      }
      return noted(plain.asSimpleOperation().timeout(.seconds(1_000_000), clock: world.clock).map { 1 })
    case .async(let seconds):
      let clock = world.clock
      return noted(
        AsyncOperation {
          try await clock.sleep(for: .seconds(seconds)); return 1
        })
    case .delay(let seconds):
      return noted(DelayOperation(.seconds(seconds), clock: world.clock).map { 1 })
    case .never(let seconds, let behavior, let holdsOn):
      let watched = behavior == .waitsForWork ? holders.sure : [:]
      return noted(never(holdsOn: holdsOn, watched).timeout(.seconds(seconds), behavior, clock: world.clock))
    case .wrapped(let mix, let wrapper, let extras):
      return wrapped(mix, wrapper, extras, holders)
    case .elsewhere(let standing, let ending, let wrapper, let extras):
      return noted(wrap(elsewhere(standing, ending), wrapper, holders), extras)
    case .shared(let number):
      return noted(shared(number).map { $0 })
    case .retry(let attempts, let delay, let firstIsThere, let extras):
      return noted(retry(attempts, .seconds(delay), firstIsThere, holders.inside(extras)), extras)
    case .chain(let first, let second, let extras):
      let inside = holders.inside(extras)
      return noted(operation(first, inside).then { _ in operation(second, inside) }, extras)
    case .gathered(let gathering, let parts, let limit, let extras):
      let width = limit ?? OperationQueue.defaultMaxConcurrentOperationCount
      return noted(gathered(gathering, parts, width, holders.inside(extras)), extras)
    case .rounds(let rounds, let delay, let extras):
      let inside = holders.inside(extras)
      return noted(
        repeating(every: .seconds(delay), clock: world.clock, maxRounds: rounds.count) {
          operation(rounds[$0 - 1], inside)
        }, extras)
    case .parallel(let children, let queue, let limit, let waitsForAll, let hasDependency, let extras):
      let operations = children.map { operation($0, holders.inside(extras)) }
      if hasDependency, operations.count > 1 { operations[operations.count - 1].addDependency(operations[0]) }
      let composite = CompositeOperation(operations: operations, operationQueue: queue.map { world.queues[$0] })
      if waitsForAll { composite.failurePolicy = .waitForAll }
      if let limit { composite.maxConcurrentOperationCount = limit }
      world.note(composite)
      return noted(composite.map(\.count), extras)
    case .sequence(let steps, let queue, let extras):
      let (rest, inside) = (Locked(steps[...]), holders.inside(extras))
      let sequence = ClosureSequence { _ in rest.withLock { $0.popFirst() }.map { operation($0, inside) } }
      let composite = CompositeOperation(sequence: sequence, operationQueue: queue.map { world.queues[$0] })
      world.note(composite)
      return noted(composite.map(\.count), extras)
    }
  }

  private func noted(_ operation: SimpleOperation<Int>, _ extras: PolicyMix.Extras = .init()) -> SimpleOperation<Int> {
    world.note(operation, extras)
    return operation
  }

  private func gathered(
    _ gathering: PolicyMix.Gathering, _ parts: [PolicyMix], _ width: Int, _ holders: Holders
  ) -> SimpleOperation<Int> {
    switch gathering {
    case .all: all(parts.map { operation($0, holders) }, maxConcurrent: width).map(\.count)
    case .allSettled: allSettled(parts.map { operation($0, holders) }, maxConcurrent: width).map(\.count)
    case .firstSuccess: firstSuccess(of: parts.map { operation($0, holders) })
    case .forEach: forEach(parts, maxConcurrent: width) { operation($0, holders) }.map(\.count)
    case .zip: zip(operation(parts[0], holders), operation(parts[parts.count - 1], holders)).map { $0 + $1 }
    }
  }

  // MARK: - Leaves

  private func leaf(_ ending: PolicyMix.Ending, later: Bool, _ holders: [Int: Int] = [:]) -> SimpleOperation<Int> {
    let bodies = Locked(0)
    let leaf = SimpleOperation<Int> { [world] operation in
      bodies.increment()
      world.enter(holders)
      let end: @Sendable () -> Void = {
        world.leave(holders)
        switch ending {
        case .success: operation.finish(with: 1)
        case .failure: operation.reject(with: TestError.first)
        case .cancelled: operation.settle(with: .cancelled)
        }
      }
      if later { DispatchQueue.global().async(execute: end) } else { end() }
    }
    world.note(leaf, bodies: bodies)
    return leaf
  }

  private enum Standing {
    case outside, inside, left
  }

  private func never(holdsOn: Bool, _ holders: [Int: Int]) -> SimpleOperation<Int> {
    let never = NeverFinishingOperation<Int>(holdsOn: holdsOn)
    // A cancel may come while it starts. It leaves its categories before it settles, after which
    // others hold them.
    let standing = Locked(Standing.outside)
    never.started.whenOpen { [world] in
      standing.withLock { standing in
        guard standing == .outside else { return }
        standing = .inside
        world.enter(holders)
      }
    }
    let leave: @Sendable () -> Void = { [world] in
      standing.withLock { standing in
        if standing == .inside { world.leave(holders) }
        standing = .left
      }
    }
    never.cancelRequested.whenOpen { [unowned never] in
      guard holdsOn else { return leave() }
      DispatchQueue.global().async { [never] in
        leave()
        never.release()
      }
    }
    return never
  }

  private func shared(_ number: Int) -> SimpleOperation<Int> {
    world.shared(number) { SimpleOperation { operation in DispatchQueue.global().async { operation.finish(with: 1) } } }
  }

  private func elsewhere(_ standing: PolicyMix.Elsewhere, _ ending: PolicyMix.Ending) -> SimpleOperation<Int> {
    let operation = leaf(ending, later: standing == .running)
    switch standing {
    case .running, .finished: operation.start()
    case .queued: world.otherQueue.addOperation(operation)
    case .cancelled: operation.cancel()
    case .cancelledAndFinished:
      operation.cancel()
      operation.start()
    }
    return operation
  }

  // MARK: - Policies

  private func wrapped(
    _ mix: PolicyMix, _ wrapper: PolicyMix.Wrapper, _ extras: PolicyMix.Extras, _ holders: Holders
  ) -> SimpleOperation<Int> {
    var inside = holders.inside(extras)
    switch wrapper {
    case .timeout(_, .settlesAtOnce, _):
      inside.sure = [:]
    case .exclusive(let categories):
      let number = world.nextNumber()
      for category in categories {
        inside.all[category] = inside.all[category] ?? number
        inside.sure[category] = inside.all[category]
      }
    case .timeout, .condition, .limited, .guarded, .map, .recover, .settled:
      break
    }
    return noted(wrap(operation(mix, inside), wrapper, inside), extras)
  }

  private func wrap(
    _ operation: SimpleOperation<Int>, _ wrapper: PolicyMix.Wrapper, _ holders: Holders
  ) -> SimpleOperation<Int> {
    switch wrapper {
    case .timeout(let seconds, let behavior, let asDeadline):
      guard asDeadline else { return operation.timeout(.seconds(seconds), behavior, clock: world.clock) }
      return operation.deadline(world.clock.now.advanced(by: .seconds(seconds)), clock: world.clock, behavior)
    case .exclusive(let categories):
      return operation.exclusive(categories.map(PolicyMixWorld.category), in: world.registry)
    case .condition(let requirement):
      // The prerequisite runs before, and is not inside the guarded operation.
      return operation.condition(condition(requirement, Holders(all: holders.all)))
    case .limited(let weight):
      let limit = SharedLimit(maxConcurrent: 2)
      // A weight of 3 is too much on its own, but not inside a holder.
      return operation.limited(by: limit, weight: weight).limited(by: limit)
    case .guarded: return operation.guarded(by: world.breaker)
    case .map: return operation.map { $0 }
    case .recover: return operation.recover { _ in leaf(.success, later: false) }
    case .settled: return operation.settled().map { $0.value ?? 0 }
    }
  }

  private func retry(
    _ attempts: [PolicyMix], _ delay: Duration, _ firstIsThere: Bool, _ holders: Holders
  ) -> SimpleOperation<Int> {
    let policy = RetryPolicy(maxAttempts: attempts.count, backoff: .constant(delay), jitter: .none)
    let make: @Sendable (Int) -> SimpleOperation<Int> = { operation(attempts[$0 - 1], holders) }
    guard firstIsThere else { return retrying(policy, clock: world.clock) { make($0.number) } }
    return make(1).retrying(policy, clock: world.clock) { make($0.number) }
  }

  private func condition(_ requirement: PolicyMix.Requirement, _ holders: Holders) -> Condition {
    let clock = world.clock
    switch requirement {
    case .holds: return Condition { _ in true }
    case .doesNotHold: return Condition { _ in false }
    case .throwsCancellation: return Condition { _ in throw CancellationError() }
    case .waits(let seconds):
      return Condition { _ in
        try await clock.sleep(for: .seconds(seconds))
        return true
      }
    case .cancelsTheOperation:
      return Condition { context in
        context.operation.cancel()
        return true
      }
    case .settlesTheOperation:
      return Condition { context in
        (context.operation as? SimpleOperation<Int>)?.finish(with: 5)
        return true
      }
    case .needs(let mix): return Condition(Needing { operation(mix, holders) })
    case .needsShared(let number): return Condition(Needing { shared(number) })
    case .both(let left, let right): return condition(left, holders) && condition(right, holders)
    case .either(let left, let right): return condition(left, holders) || condition(right, holders)
    }
  }

  private struct Needing: OperationCondition {
    let make: @Sendable () -> Operation

    func prerequisite(for context: ConditionContext) -> Operation? { make() }

    func evaluate(_ context: ConditionContext) {}
  }
}
