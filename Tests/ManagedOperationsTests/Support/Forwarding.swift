import CompositeOperations
import ManagedOperations

/// An interceptor as users write it, around another one: it forwards every requirement.
struct Forwarding<Base: Interceptor>: Interceptor {
  let base: Base

  func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    try await base.intercept(&task, batchCount: batchCount)
  }

  var timeout: Duration? { base.timeout }

  var onlyHolds: Bool { base.onlyHolds }

  func didAttach(to batch: TaskBatch) { base.didAttach(to: batch) }

  func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) { base.didHold(task, as: held) }
}

/// A reactor around another one, that forwards every requirement.
struct ForwardingReactor<Base: Reactor>: Reactor {
  let base: Base

  var configuration: ReactorConfiguration { base.configuration }

  func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    base.shouldReact(to: outcome, of: task, handle: handle)
  }

  func key<T: ManagedTask>(for task: T) -> String? { base.key(for: task) }

  func react(to context: ReactionContext) async throws -> Reaction { try await base.react(to: context) }
}
