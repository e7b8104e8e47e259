// What is known of each task.

extension ManagerState {
  enum Phase: Equatable {
    /// It was not started. With the time that it waits after its start.
    case pending(delay: Duration?)
    /// It waits for the timer with this number.
    case delayed(timer: Int)
    /// It waits for the interceptors.
    case waiting
    /// The interceptors are being asked about it.
    case intercepting
    /// It is in the batch of an interceptor, under a number.
    case held(interceptor: Int, number: Int)
    /// It waits for its turn to execute.
    case ready
    /// An attempt is under way.
    case executing(Execution)
    /// The attempt has ended, and the reactors are being asked whether they want to react.
    case concluding
    /// Some do.
    case reacting
    /// Its outcome is decided.
    case settling(Rest)
  }

  struct Execution: Equatable {
    /// The number of the timer for its timeout.
    var timer: Int?
    /// Whether the operation has to be cancelled as soon as it is known.
    var isCancelled = false
  }

  /// What a task whose outcome is decided still waits for.
  enum Rest: Equatable {
    /// Its handle settles, or tells its observers.
    case handle
    /// So does its handle, and its operation, which is cancelled, has not ended.
    case handleAndOperation
    /// Its handle has told everything, and its operation has not ended.
    case operation
  }

  /// What the interceptors have to do with a task before it executes next.
  enum Interception {
    case needed, passed
    /// They have let it pass before, and are asked for what they change in it.
    case askedAgain
  }

  struct Job {
    let payload: Payload
    var phase: Phase
    /// How long an attempt may execute.
    let timeout: Duration?
    /// The number of the attempt that is under way, or was the last.
    var attempt = 0
    /// When that started.
    var startTick = 0
    /// When the interceptors were asked about it last; nil if they were not.
    var interceptTick: Int?
    var interception = Interception.needed
    /// Whether it goes ahead of others.
    var isUrgent = false
    /// Whether a started group starts it when its turn comes.
    var isNextInGroup = false

    var isStarted: Bool { if case .pending = phase { false } else { true } }

    var isSettling: Bool { if case .settling = phase { true } else { false } }

    /// The number of the timer that counts.
    var timer: Int? {
      switch phase {
      case .delayed(let timer): timer
      case .executing(let execution): execution.timer
      case .pending, .waiting, .intercepting, .held, .ready, .concluding, .reacting, .settling: nil
      }
    }

    /// Whether the operation of an attempt is under way.
    var isUnderWay: Bool {
      switch phase {
      case .executing, .settling(.handleAndOperation), .settling(.operation): true
      case .pending, .delayed, .waiting, .intercepting, .held, .ready, .concluding, .reacting, .settling(.handle): false
      }
    }
  }
}
