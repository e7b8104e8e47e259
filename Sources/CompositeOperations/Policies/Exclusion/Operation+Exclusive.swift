import Foundation

extension ComposableOperation {
  /// Runs this operation while no other operation with one of its categories runs.
  ///
  /// ```swift
  /// let signIn = SignIn().exclusive("sign-in")
  /// let move = Move(from: a, to: b).exclusive(.account(a), .account(b))
  /// ```
  ///
  /// Returns one operation that owns this operation. After its start, the returned operation waits
  /// for the dependencies of this operation, and then for all categories at once. When it holds the
  /// categories, this operation runs. The categories are released when this operation has finished.
  /// A cancelled operation has finished when its body has ended. A timeout that settles at once has
  /// finished when the time is up. Waiting takes neither a slot of a queue nor a thread. But an
  /// operation that was itself added to a queue keeps its slot while it waits. It lends the slot to
  /// composites that have the same queue and hold categories: see <doc:Policies>.
  ///
  /// The line is first in, first out: no operation overtakes an earlier operation that shares a
  /// category with it. Operations that share no category do not wait for each other. Operations
  /// stand in line in the order in which they were started or added to a queue. Children of a
  /// composite stand in line in their order there. A category has room for one operation, unless
  /// ``ExclusionRegistry/setLimit(_:for:)`` makes more room.
  ///
  /// Operations inside this operation, such as the children of a composite, do not wait for
  /// categories that this operation holds. They run together if the composition allows it. For
  /// other categories they wait in line, while this operation keeps its own. They may overtake
  /// operations that could run only after this operation. If such a wait closes a circle, the
  /// operation that closes it fails at once with ``ExclusionError/Code/deadlock``. Operations that
  /// a body starts by itself are not inside.
  ///
  /// If the returned operation is cancelled while it waits, it leaves the line at once, cancels
  /// this operation without running it, and settles as cancelled. If it has lent its slot, it
  /// settles when the slot is returned. If this operation is running, queued or composed elsewhere,
  /// it is not held back: the returned operation waits for it, and holds the categories meanwhile.
  ///
  /// - Parameters:
  ///   - categories: the categories to hold while this operation runs.
  ///   - registry: the registry of the operations that exclude each other.
  public func exclusive(
    _ categories: ExclusionCategory..., in registry: ExclusionRegistry = .shared
  ) -> SimpleOperation<Value> {
    exclusive(categories, in: registry)
  }

  /// The same with a list of categories. If the list is empty, the operation just runs.
  ///
  /// - Parameters:
  ///   - categories: the categories to hold while this operation runs. Duplicates count once.
  ///   - registry: the registry of the operations that exclude each other.
  public func exclusive(
    _ categories: [ExclusionCategory], in registry: ExclusionRegistry = .shared
  ) -> SimpleOperation<Value> {
    ComposedOperation(GuardForm(self, ExclusionGuard(categories, in: registry)))
  }
}
