@testable import CompositeOperations

/// States as tables write them: the phase, the ending if there is one, and the flags.
///
/// `"executing started cancelled"`, `"settled success started"`.
extension OperationState: ExpressibleByStringLiteral, CustomStringConvertible {
  private static let flags: [(name: String, flag: Flags)] = [
    ("started", .started), ("cancelled", .cancelled), ("isToldWhenSettled", .isToldWhenSettled),
    ("hasListeners", .hasListeners), ("hasDependencies", .hasDependencies), ("readinessWasRead", .readinessWasRead),
    ("adopted", .adopted), ("finishesWhenStarted", .finishesWhenStarted), ("needsNoSlot", .needsNoSlot),
    ("hasQualityOfService", .hasQualityOfService), ("endsByItself", .endsByItself), ("mainReturned", .mainReturned),
    ("watched", .watched), ("entersQueue", .entersQueue), ("beginsInMain", .beginsInMain),
    ("startedByQueue", .startedByQueue),
  ]

  /// Reads the words that `description` writes.
  public init(stringLiteral text: String) {
    var value: UInt32 = 0
    for word in text.split(separator: " ") {
      if let phase = Phase.allCases.first(where: { "\($0)" == word }) {
        value |= phase.rawValue
      } else if word.hasPrefix("as-"), let ending = Ending.allCases.first(where: { "as-\($0)" == word }) {
        value |= ending.rawValue << 3
      } else if let flag = OperationState.flags.first(where: { $0.name == word })?.flag {
        value |= flag.rawValue
      } else {
        preconditionFailure("“\(word)” is neither a phase, an ending nor a flag")
      }
    }
    self.init(rawValue: value)
  }

  /// The phase, the ending and the flags, as words.
  public var description: String {
    let ending = ending == .none ? [] : ["as-\(ending)"]
    let flags = OperationState.flags.filter { has($0.flag) }.map(\.name)
    return (["\(phase)"] + ending + flags).joined(separator: " ")
  }
}

extension OperationState {
  /// All inputs of the machine.
  enum Input: Hashable, CaseIterable, Sendable {
    case start, startByOwner, readReadiness, cancel, succeed, fail, settleCancelled, publish, publishFinishing,
      deferFinish, finish, announce
    case addObserver, addCompletion, addCancelHook, adopt, adoptForQueue, returnFromMain, beginWatch

    /// The only phase in which the winner of the settling may do this; nil if any caller may at any
    /// time.
    var phase: Phase? {
      switch self {
      case .publish, .publishFinishing: .settling
      case .deferFinish, .finish: .settled
      case .announce: .finished
      case .start, .startByOwner, .readReadiness, .cancel, .succeed, .fail, .settleCancelled, .addObserver,
        .addCompletion, .addCancelHook, .adopt,
        .adoptForQueue, .returnFromMain, .beginWatch:
        nil
      }
    }
  }

  /// Applies an input, and returns the machine's answer as text.
  mutating func apply(_ input: Input) -> String {
    switch input {
    case .start: "\(start())"
    case .startByOwner: "\(start(byOwner: true))"
    case .readReadiness:
      {
        note(.readinessWasRead); return "-"
      }()
    case .cancel: "\(cancel())"
    case .succeed: text(settle(as: .success))
    case .fail: text(settle(as: .failure))
    case .settleCancelled: text(settle(as: .cancelled))
    case .publish: "\(publish(finishing: false))"
    case .publishFinishing: "\(publish(finishing: true))"
    case .deferFinish: deferFinish() ? "later" : "now"
    case .finish:
      {
        finish(); return "-"
      }()
    case .announce: announce() ? "tell" : "-"
    case .addObserver: addObserver() ? "keep" : "late"
    case .addCompletion: addCompletion() ? "keep" : "late"
    case .addCancelHook: "\(addCancelHook())"
    case .adopt: adopt() ? "yes" : "no"
    case .adoptForQueue: adopt(entersQueue: true) ? "yes" : "no"
    case .returnFromMain: returnFromMain() ? "watch" : "-"
    case .beginWatch: beginWatch() ? "watch" : "-"
    }
  }

  private func text(_ action: SettleAction) -> String {
    switch action {
    case .lose: "lose"
    case .win(let ending, let unstarted): "win \(ending)\(unstarted ? " unstarted" : "")"
    }
  }
}
