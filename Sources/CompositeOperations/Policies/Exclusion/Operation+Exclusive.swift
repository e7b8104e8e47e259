import Foundation

// Mutual exclusion for operations of any kind.

extension ComposableOperation {
  /// Runs this operation only while no other one that has one of the categories runs.
  ///
  /// ```swift
  /// let signIn = SignIn().exclusive("sign-in")
  /// let move = Move(from: a, to: b).exclusive(.account(a), .account(b))
  /// ```
  ///
  /// Returns one operation that owns this one. Once that has started and the dependencies of this
  /// operation have finished, it gets in line for all categories at once; when it has them this
  /// operation runs, and they are released when that has finished: if it was cancelled, not before
  /// its body has ended (but when a timeout that settles at once has, if this is what that
  /// returned). Waiting takes neither a slot of a queue nor a thread; but an operation that was
  /// itself added to a queue has its slot while it waits, and lends it to composites that were
  /// given the same queue and hold something: see <doc:Policies>.
  ///
  /// The first to come is the first to go: no operation overtakes an earlier one that waits and
  /// shares a category with it, and those that share none do not wait for each other. Earlier is
  /// what was started first, or added to a queue first, or comes first among the children of a
  /// composite. A category has room for one operation, unless
  /// ``ExclusionRegistry/setLimit(_:for:)`` says otherwise.
  ///
  /// Operations inside this one (children of composites, what `then` runs, and so on) that want a
  /// category which it holds have it already, and run at once, together if the composition says so.
  /// Those that want another one wait like others, while this one is held; they may go ahead of
  /// those that could only run after this one. If such a wait closes a circle, the operation that
  /// closes it fails at once with ``ExclusionError/Code/deadlock``. Operations that a body starts
  /// by itself are not inside.
  ///
  /// Cancelled while it waits, the returned operation leaves the line at once, cancels this one
  /// without running it, and settles as cancelled; if it has lent its slot, when that is back. An
  /// operation that was started elsewhere, queued or composed is not held back: it is waited for,
  /// with the categories held.
  ///
  /// - Parameters:
  ///   - categories: what to hold while it runs.
  ///   - registry: where the others are that it excludes.
  public func exclusive(
    _ categories: ExclusionCategory..., in registry: ExclusionRegistry = .shared
  ) -> SimpleOperation<Value> {
    exclusive(categories, in: registry)
  }

  /// The same with a list of categories; if it is empty, the operation just runs.
  ///
  /// - Parameters:
  ///   - categories: what to hold while it runs. One that occurs twice counts once.
  ///   - registry: where the others are that it excludes.
  public func exclusive(
    _ categories: [ExclusionCategory], in registry: ExclusionRegistry = .shared
  ) -> SimpleOperation<Value> {
    ComposedOperation(ExclusionSource(self, categories, in: registry, givesVoid: false))
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see the form for a
  /// ``ComposableOperation``.
  @_disfavoredOverload
  public final func exclusive(
    _ categories: ExclusionCategory..., in registry: ExclusionRegistry = .shared
  ) -> SimpleOperation<Void> {
    exclusive(categories, in: registry)
  }

  /// The same for any other operation, which has no value: see the form for a
  /// ``ComposableOperation``.
  @_disfavoredOverload
  public final func exclusive(
    _ categories: [ExclusionCategory], in registry: ExclusionRegistry = .shared
  ) -> SimpleOperation<Void> {
    ComposedOperation(ExclusionSource(self, categories, in: registry, givesVoid: true))
  }
}
