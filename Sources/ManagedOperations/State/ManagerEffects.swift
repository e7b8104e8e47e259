import CompositeOperations

/// What the shell of a manager has to do after an input, outside of the lock.
struct ManagerEffects<Payload> {
  enum Action {
    case setTimer(Payload, number: Int, Duration)
    case dropTimer(Payload, number: Int)
    /// The operation of the attempt, if it is known already; if not, the thread that makes it asks.
    case cancelOperation(Payload)
    case settle(Payload, Settlement)
    case startDrain(Int)
    case cancelDrain(Int)
    case startReaction(Int, reactor: Int, key: String?, Payload, attempt: Int)
    case cancelReaction(Int)

    /// Whether it may call the user's code, such as a completion. These actions come after all
    /// others; both kinds are carried out in order. `cancelDrain`, which may call a cancellation
    /// handler, has to come before `startDrain`.
    var callsUser: Bool {
      switch self {
      case .settle, .cancelOperation, .cancelReaction: true
      case .setTimer, .dropTimer, .startDrain, .cancelDrain, .startReaction: false
      }
    }
  }

  var actions = ShortList<Action>()
  /// How many more tasks can execute.
  var tickets = 0
  /// Tasks to be released outside of the lock.
  var gone = ShortList<Payload>()
  /// Answers to be released outside of the lock: they may hold the user's errors.
  var goneAnswers: [ReactionAnswer] = []
  /// Whether there are events to deliver.
  var delivers = false
  /// Whether nothing is left to do.
  var isIdle = false

  var isEmpty: Bool { actions.isEmpty && tickets == 0 && gone.isEmpty && goneAnswers.isEmpty && !delivers && !isIdle }
}

/// A list whose first element needs no allocation: most inputs have one consequence.
struct ShortList<Element>: RandomAccessCollection {
  private var head: Element?
  private var others: [Element] = []

  var startIndex: Int { 0 }
  var endIndex: Int { head == nil ? 0 : others.count + 1 }
  subscript(index: Int) -> Element { index == 0 ? head! : others[index - 1] }

  mutating func append(_ element: Element) {
    if head == nil { head = element } else { others.append(element) }
  }
}

/// How a task ends.
enum Settlement {
  /// As the last attempt has.
  case asLastAttempt
  /// It fails exactly with this error.
  case error(any Error)
  case managed(ManagedTaskError.Code, by: Participant? = nil, cause: (any Error)? = nil)

  /// With what an interceptor or a reactor threw. `CancellationError` cancels the task.
  static func thrown(_ error: any Error, as code: ManagedTaskError.Code, by participant: Participant) -> Settlement {
    error is CancellationError ? .error(error) : .managed(code, by: participant, cause: error)
  }
}

/// An interceptor or a reactor, by its index in the manager.
enum Participant {
  case interceptor(Int), reactor(Int)
}

/// What a reaction has come to.
enum ReactionAnswer {
  case answered(Reaction)
  case threw(any Error)
  case timedOut
}

struct ReactionKey: Hashable {
  let reactor: Int
  let key: String
}

struct RunningReaction {
  let reactor: Int
  /// Nil for a reaction to one task alone.
  let key: String?
  var members: [Int]
}
