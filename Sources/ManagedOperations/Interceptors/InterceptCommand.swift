/// What an ``Interceptor`` wants to be done with a task.
///
/// If the combined command is to execute, each interceptor that answered `execute` or `forceExecute` releases what it holds
/// itself: those tasks execute first, in the order in which they were held, and the task in question after them. They are not
/// intercepted again. If it is to hold, they release that when the task is let go, unless all of it has left meanwhile. If it
/// is to discard, nothing is released.
///
/// A task that was let pass is asked about again before it starts if a reaction has ended meanwhile that has such tasks
/// intercepted again; see ``ReactorConfiguration/reinterceptsOnRequeue``. Then only `discard` counts: it is not held again, and
/// releases nothing.
///
/// More commands may come: a `switch` over them needs a `default`.
public struct InterceptCommand: Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// Execute it, if the others think so too, and release what this interceptor holds.
  public static let execute = InterceptCommand(value: .execute)
  /// Execute it, whatever the others say, and release what this interceptor holds.
  public static let forceExecute = InterceptCommand(value: .forceExecute)
  /// Keep it in the batch of this interceptor, until that is released: of the first one that says so.
  public static let hold = InterceptCommand(value: .hold)
  /// Do not execute it: it fails with ``ManagedTaskError``, whose code is `discarded`.
  public static let discard = InterceptCommand(value: .discard)
  /// No opinion: the task is none of this interceptor's. It executes if the others think so, and releases nothing of what this
  /// interceptor holds.
  public static let pass = InterceptCommand(value: .pass)

  /// All commands that there are.
  public static let allCases: [InterceptCommand] = [.execute, .forceExecute, .hold, .discard, .pass]

  /// The command in a word, such as `forceExecute`.
  public var description: String { value.rawValue }

  /// What the library itself switches on, without a `default`.
  enum Value: String {
    case execute, forceExecute, hold, discard, pass
  }

  let value: Value
}
