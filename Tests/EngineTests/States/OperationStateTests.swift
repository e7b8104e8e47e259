import Testing

@testable import CompositeOperations

/// The answers of the state of an operation to each input in each phase.
@Suite("3.1 OperationState")
struct OperationStateTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let before: OperationState
    let input: OperationState.Input
    let action: String
    let after: OperationState

    var testDescription: String { "\(before): \(input)" }
  }

  /// Makes one row for each line; the phase comes first. `=` stands for the state before.
  private static func rows(
    _ input: OperationState.Input, _ lines: (before: OperationState, action: String, after: OperationState?)...
  ) -> [Row] {
    lines.map { Row(before: $0.before, input: input, action: $0.action, after: $0.after ?? $0.before) }
  }

  private static func adoptions(_ input: OperationState.Input, leaving flags: String) -> [Row] {
    rows(
      input,
      ("pending", "yes", OperationState(stringLiteral: "pending \(flags)")),
      ("pending cancelled", "yes", OperationState(stringLiteral: "pending cancelled \(flags)")),
      ("pending adopted", "no", nil),
      ("executing started", "no", nil),
      ("settling as-success", "no", nil),
      ("settled as-success", "no", nil),
      ("finished as-success", "no", nil),
      ("announced as-success", "no", nil))
  }

  static let start =
    rows(
      .start,
      ("pending", "run", "executing started"),
      ("pending cancelled", "settleCancelled", "executing started cancelled"),
      ("executing started", "ignore", nil),
      ("executing started cancelled", "ignore", nil),
      // A queue starts an operation while another thread settles it unstarted: the settling thread
      // must know.
      ("settling as-success", "ignore", "settling as-success started"),
      ("settling as-success started", "ignore", nil),
      ("settled as-failure", "ignore", "settled as-failure started"),
      ("settled as-failure started", "ignore", nil),
      ("settled as-success finishesWhenStarted", "finish", "settled as-success finishesWhenStarted started"),
      ("settled as-success finishesWhenStarted started", "ignore", nil),
      ("finished as-success started", "ignore", nil),
      ("announced as-cancelled started cancelled", "ignore", nil),
      // A queue may hold it.
      ("pending readinessWasRead", "run", "executing readinessWasRead started startedByQueue"),
      ("executing readinessWasRead started", "ignore", "executing readinessWasRead started startedByQueue"))
    + rows(
      .startByOwner,
      ("pending", "run", "executing started"),
      ("pending readinessWasRead cancelled", "settleCancelled", "executing readinessWasRead started cancelled"),
      ("executing started", "ignore", nil),
      ("settling as-success", "ignore", "settling as-success started"),
      ("settled as-success started", "ignore", nil),
      // Only the queue finishes it.
      ("settled as-success finishesWhenStarted", "ignore", nil),
      ("finished as-success started", "ignore", nil),
      ("announced as-success started", "ignore", nil))
    + rows(
      .readReadiness,
      ("pending", "-", "pending readinessWasRead"),
      ("executing started", "-", "executing started readinessWasRead"),
      ("settling as-success started", "-", "settling as-success started readinessWasRead"),
      ("settled as-success started", "-", "settled as-success started readinessWasRead"),
      ("finished as-success started", "-", "finished as-success started readinessWasRead"),
      ("announced as-success started", "-", "announced as-success started readinessWasRead"))

  static let cancel = rows(
    .cancel,
    ("pending", "mark", "pending cancelled"),
    ("pending cancelled", "ignore", nil),
    ("executing started", "callHooks", "executing started cancelled"),
    ("executing started cancelled", "ignore", nil),
    ("settling as-success started", "ignore", nil),
    ("settled as-success started", "ignore", nil),
    ("settled as-success finishesWhenStarted", "ignore", nil),
    ("finished as-failure started", "ignore", nil),
    ("announced as-cancelled started cancelled", "ignore", nil))

  static let settle =
    rows(
      .succeed,
      ("pending", "win success unstarted", "settling as-success"),
      ("pending cancelled", "win cancelled unstarted", "settling as-cancelled cancelled"),
      ("executing started", "win success", "settling as-success started"),
      ("executing started cancelled", "win cancelled", "settling as-cancelled started cancelled"),
      ("settling as-failure started", "lose", nil),
      ("settled as-failure started", "lose", nil),
      ("finished as-failure started", "lose", nil),
      ("announced as-failure started", "lose", nil))
    + rows(
      .fail,
      ("pending", "win failure unstarted", "settling as-failure"),
      ("pending cancelled", "win cancelled unstarted", "settling as-cancelled cancelled"),
      ("executing started", "win failure", "settling as-failure started"),
      ("executing started cancelled", "win cancelled", "settling as-cancelled started cancelled"),
      ("settling as-success started", "lose", nil),
      ("settled as-success started", "lose", nil),
      ("finished as-success started", "lose", nil),
      ("announced as-success started", "lose", nil))
    + rows(
      .settleCancelled,
      ("pending", "win cancelled unstarted", "settling as-cancelled cancelled"),
      ("pending cancelled", "win cancelled unstarted", "settling as-cancelled cancelled"),
      ("executing started", "win cancelled", "settling as-cancelled started cancelled"),
      ("executing started cancelled", "win cancelled", "settling as-cancelled started cancelled"),
      ("settling as-success started", "lose", nil),
      ("settled as-success started", "lose", nil),
      ("finished as-success started", "lose", nil),
      ("announced as-success started", "lose", nil))

  static let ending =
    rows(
      .publish,
      ("settling as-success", "finish", "settled as-success"),
      ("settling as-success started", "finish", "settled as-success started"),
      ("settling as-failure started hasDependencies", "finish", "settled as-failure started hasDependencies"),
      (
        "settling as-success started isToldWhenSettled", "deliverCompletion",
        "settled as-success started isToldWhenSettled"
      ))
    + rows(
      .publishFinishing,
      // Unstarted it may wait in a queue, and dependencies must be removed first.
      ("settling as-success", "finish", "settled as-success"),
      ("settling as-success started", "announce", "finished as-success started"),
      ("settling as-failure started hasListeners", "announce", "finished as-failure started hasListeners"),
      ("settling as-failure started hasDependencies", "finish", "settled as-failure started hasDependencies"),
      ("settling as-success isToldWhenSettled", "deliverCompletion", "settled as-success isToldWhenSettled"),
      (
        "settling as-success started isToldWhenSettled", "deliverCompletion",
        "settled as-success started isToldWhenSettled"
      ),
      // A queue may hold it, and has not started it.
      ("settling as-success started readinessWasRead", "finish", "settled as-success started readinessWasRead"),
      (
        "settling as-success started readinessWasRead startedByQueue", "announce",
        "finished as-success started readinessWasRead startedByQueue"
      ))
    + rows(
      .deferFinish,
      (
        "settled as-success started readinessWasRead", "later",
        "settled as-success readinessWasRead finishesWhenStarted"
      ),
      ("settled as-success started readinessWasRead startedByQueue", "now", nil),
      ("settled as-success", "later", "settled as-success finishesWhenStarted"),
      ("settled as-success started", "now", nil))
    + rows(
      .finish,
      ("settled as-success started", "-", "finished as-success started"),
      ("settled as-failure", "-", "finished as-failure"))
    + rows(
      .announce,
      ("finished as-success started", "-", "announced as-success started"),
      ("finished as-success started hasListeners", "tell", "announced as-success started hasListeners"))

  static let listeners =
    rows(
      .addObserver,
      ("pending", "keep", "pending hasListeners"),
      ("executing started", "keep", "executing started hasListeners"),
      ("settling as-success started", "keep", "settling as-success started hasListeners"),
      ("settled as-success started", "keep", "settled as-success started hasListeners"),
      ("finished as-success started", "keep", "finished as-success started hasListeners"),
      ("announced as-success started", "late", nil))
    + rows(
      .addCompletion,
      ("pending", "keep", "pending isToldWhenSettled"),
      ("executing started", "keep", "executing started isToldWhenSettled"),
      ("settling as-success started", "keep", "settling as-success started isToldWhenSettled"),
      ("settled as-success started", "late", nil),
      ("finished as-success started", "late", nil),
      ("announced as-success started", "late", nil))
    + rows(
      .addCancelHook,
      ("pending", "keep", "pending hasListeners"),
      ("pending cancelled", "keep", "pending cancelled hasListeners"),
      ("executing started", "keep", "executing started hasListeners"),
      ("executing started cancelled", "call", nil),
      ("settling as-success started", "drop", nil),
      ("settled as-success started", "drop", nil),
      ("finished as-success started", "drop", nil),
      ("announced as-success started", "drop", nil))
    + adoptions(.adopt, leaving: "adopted")
    + adoptions(.adoptForQueue, leaving: "adopted entersQueue readinessWasRead")

  static let hanging =
    rows(
      .returnFromMain,
      ("pending", "-", nil),
      ("executing started", "-", "executing started mainReturned"),
      ("executing started cancelled", "watch", "executing started cancelled mainReturned watched"),
      ("executing started cancelled endsByItself", "-", "executing started cancelled endsByItself mainReturned"),
      ("executing started cancelled needsNoSlot", "-", "executing started cancelled needsNoSlot mainReturned"),
      (
        "executing started cancelled needsNoSlot beginsInMain", "watch",
        "executing started cancelled needsNoSlot beginsInMain mainReturned watched"
      ),
      ("settling as-success started", "-", nil),
      ("settled as-success started", "-", nil),
      ("finished as-success started", "-", nil),
      ("announced as-success started", "-", nil))
    + rows(
      .beginWatch,
      ("pending cancelled", "-", nil),
      ("executing started cancelled", "-", nil),
      ("executing started mainReturned", "-", nil),
      ("executing started cancelled mainReturned", "watch", "executing started cancelled mainReturned watched"),
      ("executing started cancelled mainReturned watched", "-", nil),
      ("executing started cancelled mainReturned endsByItself", "-", nil),
      ("executing started cancelled mainReturned needsNoSlot", "-", nil),
      (
        "executing started cancelled mainReturned needsNoSlot beginsInMain", "watch",
        "executing started cancelled mainReturned needsNoSlot beginsInMain watched"
      ),
      ("executing started cancelled mainReturned needsNoSlot beginsInMain endsByItself", "-", nil),
      ("settling as-cancelled started cancelled mainReturned", "-", nil),
      ("settled as-cancelled started cancelled mainReturned", "-", nil),
      ("finished as-cancelled started cancelled mainReturned", "-", nil),
      ("announced as-cancelled started cancelled mainReturned", "-", nil))

  static let table = start + cancel + settle + ending + listeners + hanging

  @Test("Every input in every phase", arguments: table)
  func input_inPhase_givesActionAndState(_ row: Row) {
    var state = row.before
    #expect(state.apply(row.input) == row.action)
    #expect(state == row.after)
  }

  @Test("The table has a row for each input in each phase in which it is possible")
  func table_isComplete() {
    for input in OperationState.Input.allCases {
      let expected = input.phase.map { [$0] } ?? OperationState.Phase.allCases
      let found = Set(OperationStateTests.table.filter { $0.input == input }.map(\.before.phase))
      #expect(found == Set(expected), "\(input)")
    }
  }

  @Test("Flags of an operation change nothing else", arguments: OperationState.Phase.allCases)
  func note_inPhase_keepsTheRest(_ phase: OperationState.Phase) {
    var state = OperationState(rawValue: phase.rawValue)
    state.note([.hasDependencies, .readinessWasRead])
    #expect(state.phase == phase && state.ending == .none)
    #expect(state.has(.hasDependencies) && state.has(.readinessWasRead) && !state.has(.needsNoSlot))
    #expect("\(state)" == "\(phase) hasDependencies readinessWasRead")
  }

  @Test("The outcome is waited for only while it is stored", arguments: OperationState.Phase.allCases)
  func awaitPublication_inPhase_isNotedWhileSettling(_ phase: OperationState.Phase) {
    var state = OperationState(rawValue: phase.rawValue)
    #expect(state.awaitPublication() == (phase == .settling))
    #expect(state.has(.awaited) == (phase == .settling) && state.phase == phase)
  }

  @Test("A cancel that Foundation announces is noted of an operation that has not started")
  func cancel_announcing_isNotedUnlessExecuting() {
    var pending: OperationState = "pending"
    #expect(pending.cancel(announcing: true) == .mark && pending.has(.announcesCancel))
    var executing: OperationState = "executing started"
    #expect(executing.cancel(announcing: true) == .callHooks && !executing.has(.announcesCancel))
  }

  @Test("A queue may have read isReady, unless something else explains that", arguments: [true, false])
  func noteReadiness_isASign_unlessExplained(isReady: Bool) {
    var state: OperationState = "pending"
    state.noteReadiness(isReady)
    #expect(state == "pending readinessWasRead")

    for explained in ["pending adopted", "executing started", "settled as-success"] as [OperationState] {
      var state = explained
      state.noteReadiness(isReady)
      #expect(state == explained)
    }

    // The last dependency has finished, if it is ready; a second time nothing explains it.
    var dependent: OperationState = "pending hasDependencies"
    dependent.note(.awaitsReadiness)
    dependent.noteReadiness(isReady)
    #expect(dependent.has(.readinessWasRead) == !isReady && dependent.has(.awaitsReadiness) == !isReady)
    dependent.noteReadiness(isReady)
    #expect(dependent.has(.readinessWasRead))
  }

  @Test("isExecuting, isSettled and isFinished follow the phase")
  func properties_followPhase() {
    let executing: [OperationState] = [
      "executing started", "settling as-success started", "settled as-success started",
    ]
    let idle: [OperationState] = ["pending", "settling as-success", "settled as-success finishesWhenStarted"]
    let ended: [OperationState] = ["finished as-success started", "announced as-success"]
    #expect(executing.allSatisfy(\.isExecuting) && !(idle + ended).contains(where: \.isExecuting))
    #expect(ended.allSatisfy(\.isFinished) && !(idle + executing).contains(where: \.isFinished))
    #expect((executing + idle + ended).filter(\.isSettled).map(\.phase) == [.settled, .settled, .finished, .announced])
  }
}
