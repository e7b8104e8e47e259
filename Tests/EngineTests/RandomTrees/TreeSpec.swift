import Foundation

/// The description of one random tree: a value from which the builder makes operations and the
/// model outcomes.
indirect enum TreeSpec: Sendable {
  case leaf(Leaf)
  case parallel(Parallel)
  case sequential(Sequential)
  case map(Step, of: TreeSpec)
  case then(Step, of: TreeSpec, next: TreeSpec)
  case recover(Step, of: TreeSpec, with: TreeSpec)
  case zip(Int, [TreeSpec])
  case all(Int, width: Int?, [TreeSpec])
  case firstSuccess(Int, [TreeSpec])
  /// `makeFailsAt` is the position of the item whose operation cannot be made.
  case forEach(Int, width: Int, makeFailsAt: Int?, [TreeSpec])
}

extension TreeSpec {
  /// An operation without operations in it.
  struct Leaf: Sendable {
    let id: Int
    var kind: Kind
    var result = Result.value
    var delay = Delay.none
    /// Whether it settles as soon as it is cancelled.
    var yieldsToCancel = false

    enum Kind: CaseIterable, Sendable {
      case closure, subclass, async, block, foreign, conforming, asyncConforming
      /// Settled before it can be started.
      case settled
      /// A `SimpleOperation` without a body: it fails.
      case bodyless
      /// Started on its own before the root, and held until its composite settled: misuse for that
      /// composite.
      case executing

      /// Whether it is a plain operation, which only composites take.
      var isPlain: Bool { self == .block || self == .foreign }
    }

    enum Result: Sendable {
      case value, error
      /// It settles `.cancelled` by itself, which is an outside cancel for its parent.
      case cancelled
    }

    enum Delay: Sendable {
      /// It settles inside its `main`.
      case none
      /// It settles after this many trips through a dispatch queue.
      case hops(Int)
      /// It settles when the shared pool happens to draw it.
      case drawn
    }
  }

  /// The settings of composites.
  struct Settings: Sendable {
    /// The number of its operation queue.
    var queue: Int?
    /// Its own limit.
    var limit: Int?
    var startsSuspended = false
  }

  struct Parallel: Sendable {
    let id: Int
    var children: [Child]
    var settings = Settings()
    var waitsForAll = false
    var usesBuilder = false
    /// The position of a child that is handed over twice.
    var repeated: Int?
  }

  /// A child of a parallel composite.
  struct Child: Sendable {
    var spec: TreeSpec
    var priority = Operation.QueuePriority.normal
    /// Positions of siblings that must finish first. Never a circle.
    var after: [Int] = []
    /// The number of an operation outside of the tree that must finish first.
    var external: Int?
  }

  struct Sequential: Sendable {
    let id: Int
    var style: Style
    var steps: [TreeSpec]
    var ending = Ending.end
    var settings = Settings()

    enum Style: Sendable {
      /// A custom delegate. It ends with nil after a cancelled step unless `continuesAfterCancel`.
      case scripted(afterFailure: AfterFailure, continuesAfterCancel: Bool)
      case linear
      case retry
    }

    enum AfterFailure: String, Sendable { case end, goOn, throwError }

    /// What the delegate does when it is asked once more after the last step.
    enum Ending: Sendable {
      case end, throwError, throwCancellation
      /// It returns the operation that just finished (or one that finished elsewhere, when it is
      /// the first call).
      case returnFinished
      /// It returns an operation that executes elsewhere.
      case returnExecuting
    }
  }

  /// The closure of a `map`, `then` or `recover`.
  struct Step: Sendable {
    let id: Int
    var effect = Effect.value
    /// Whether a `map` is a `mapAsync`.
    var isAsync = false

    enum Effect: Sendable { case value, throwError, throwCancellation }
  }
}

/// A tree and all that is done to it.
struct TreePlan: Sendable {
  let seed: UInt64
  var root: TreeSpec
  var nodeCount: Int
  /// The limits of the operation queues.
  var queues: [Int]
  var externals: [External]
  var cancels: [Cancel]
  var launch: Launch
  var wait: Wait

  /// An operation outside of the tree that some of its children depend on.
  enum External: String, CaseIterable, Sendable { case simple, block, foreign }

  struct Cancel: Sendable {
    let target: Target
    let moment: Moment
  }

  enum Target: Sendable {
    /// The operation of a node.
    case node(Int)
    /// All operations of the queue with this number.
    case queue(Int)
  }

  enum Moment: Sendable {
    case beforeStart, afterStart
    /// From another thread, about when the root starts, after this many trips through a dispatch
    /// queue.
    case meanwhile(hops: Int)
    /// In the body of a leaf, or in the closure of a step or a delegate.
    case inBody(of: Int)
    case inCompletion(of: Int)
    case inCancelHook(of: Int)
  }

  enum Launch: Sendable {
    case start, startTwice, run
    /// In the queue with this number.
    case added(Int), runOnQueue(Int)
  }

  enum Wait: CaseIterable, Sendable {
    case value, dependent, blocked
  }
}
