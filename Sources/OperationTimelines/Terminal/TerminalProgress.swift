import CompositeOperations
public import Foundation

/// Shows the progress of operations on a terminal: a bar for each, and below it the operations that
/// run inside.
///
/// ```swift
/// let terminal = TerminalProgress()
/// terminal.track(build, title: "Build")
/// terminal.track(upload, title: "Upload")
/// _ = try await (build.run(), upload.run())
/// await terminal.finish()
/// ```
///
/// ```text
/// ✓ Build (0:12)
/// ⠙ Upload     ██████████░░░░░░░░░░░░░░░░░░░░   34 %  17/50  0:07
/// ⠙   photo-18 ███████████████░░░░░░░░░░░░░░░   51 %  0:01
/// ⠙   photo-19                                  0:00
/// ```
///
/// An operation of unknown progress has no bar, only the spinner and the time. Compositions inside
/// without a name are left out, and what they run takes their place. When a tracked operation
/// settles, a permanent line says how.
///
/// If the output is not a terminal, only those lines are written, and every ten seconds one for
/// each operation that still runs.
///
/// All members may be used from any thread. Names cannot harm the terminal: control characters in
/// them are not sent. Write to the same terminal with ``print(_:)`` only, and call ``finish()``
/// before the program ends: the cursor is hidden while there are bars.
public final class TerminalProgress: Sendable {
  private struct Tracked {
    let number: Int
    let title: String
    let operation: SettlingOperation
    let watch: TerminalWatch?
    var started: Duration?
  }

  private struct State {
    var tracked: [Tracked] = []
    var lastNumber = 0
    var screen = TerminalScreen()
    var tick = 0
    var isTicking = false
    /// The timer of the next drawing, once it is known, and its number.
    var ticker: (timer: Timekeeper.Timer?, number: Int) = (nil, 0)
    var isFinished = false
    // The output: one thread at a time writes pending text.
    var pending = ""
    var isWriting = false
    /// How many permanent lines of operations that have settled are not pending yet.
    var linesInTheMaking = 0
    var waiters: [CheckedContinuation<Void, Never>] = []

    var isWritten: Bool { !isWriting && linesInTheMaking == 0 }

    /// Whether none of them has its permanent line meanwhile. Otherwise what was read of them is
    /// old, and the next drawing shows what is left.
    func isPresent(_ drawn: [Tracked]) -> Bool {
      let numbers = Set(tracked.lazy.map(\.number))
      return !isFinished && drawn.allSatisfy { numbers.contains($0.number) }
    }

    /// Those that wait for the end of the writing, if that has come.
    mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
      guard isWritten else { return [] }
      defer { waiters = [] }
      return waiters
    }
  }

  private let device: TerminalDevice
  private let maxLines: Int
  private let now: @Sendable () -> Duration
  /// What draws at intervals; nil if nothing does. Not a task that sleeps: on Linux none gets a
  /// thread while operations keep all processors busy, which is when users look at bars.
  private let timekeeper: Timekeeper?
  private let state = LockBox(State())

  /// Makes a progress that shows nothing yet.
  ///
  /// - Parameters:
  ///   - output: where to show it.
  ///   - maxLines: the maximum number of operations shown at a time, of which never more are shown
  ///     than fit on the screen; a line below says how many more there are. Traps if it is less
  ///     than 1.
  ///   - clock: measures the time of operations, and the time between drawings: ten per second
  ///     while there is something to show.
  public convenience init(
    output: FileHandle = .standardError, maxLines: Int = 10, clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.init(TerminalDevice(output), maxLines: maxLines, clock: clock)
  }

  convenience init<C: Clock<Duration>>(_ device: TerminalDevice, maxLines: Int, clock: C) {
    let now: @Sendable () -> C.Instant = { OperationContext.bindNone { clock.now } }
    let start = now()
    self.init(device, maxLines: maxLines, now: { start.duration(to: now()) }, timekeeper: .of(clock))
  }

  /// - Parameters:
  ///   - now: the time since some moment.
  ///   - timekeeper: draws at intervals; nil if nothing does.
  init(
    _ device: TerminalDevice, maxLines: Int, now: @escaping @Sendable () -> Duration, timekeeper: Timekeeper? = nil
  ) {
    require(
      maxLines >= 1, "TerminalProgress was made with \(maxLines) lines, so it could show nothing. Use at least 1.")
    self.device = device
    self.maxLines = maxLines
    self.now = now
    self.timekeeper = timekeeper
  }

  deinit {
    let (text, timer) = state.withLock { ($0.pending + $0.screen.finish(), $0.ticker.timer) }
    if let timer { timekeeper?.cancel(timer) }
    if !text.isEmpty { device.write(text) }
  }

  // MARK: - Using it

  /// Shows an operation from now until it settles. An operation that has settled only gets its
  /// permanent line. Without effect after ``finish()``.
  ///
  /// - Parameters:
  ///   - operation: the operation, which is not started by this. Retained until it settles.
  ///   - title: its title; nil for its name, or its type.
  public func track(_ operation: SettlingOperation, title: String? = nil) {
    let name = operation.name.flatMap { $0.isEmpty ? nil : $0 }
    let title = title ?? name ?? TerminalWatch.typeName(of: operation)
    let watch = device.canDraw ? operation.composition.map { TerminalWatch($0, now: now) } : nil
    let started = operation.isExecuting ? now() : nil
    let number: Int? = state.withLock { state in
      guard !state.isFinished else { return nil }
      state.lastNumber += 1
      state.tracked.append(
        Tracked(number: state.lastNumber, title: title, operation: operation, watch: watch, started: started))
      return state.lastNumber
    }
    guard let number else { return }
    operation.addLifecycleObserver { [weak self] event in
      switch event.content {
      case .started: self?.started(number)
      case .settled(let outcome): self?.settled(number, outcome)
      case .cancelled, .progress, .childAdded, .left: break
      }
    }
    // It may have started before it was observed.
    if started == nil, operation.isExecuting { self.started(number) }
    tickWhileNeeded()
  }

  /// Writes a permanent line above the bars. Control characters in it are sent as they are.
  public func print(_ line: String) {
    change { state in
      device.canDraw ? state.screen.print(line) : line + "\n"
    }
  }

  /// Removes the bars, shows the cursor, and returns when everything is written. After that only
  /// what is printed is shown.
  public func finish() async {
    var tracked: [Tracked] = []  // released outside the lock
    var timer: Timekeeper.Timer?
    change { state in
      state.isFinished = true
      swap(&tracked, &state.tracked)
      swap(&timer, &state.ticker.timer)
      return state.screen.finish()
    }
    withExtendedLifetime(tracked) {}
    if let timer { timekeeper?.cancel(timer) }
    await withCheckedContinuation { continuation in
      let isWritten = state.withLock { state in
        guard !state.isWritten else { return true }
        state.waiters.append(continuation)
        return false
      }
      if isWritten { continuation.resume() }
    }
  }

  // MARK: - Events

  private func started(_ number: Int) {
    let started = now()
    state.withLock { state in
      guard let index = state.tracked.firstIndex(where: { $0.number == number }) else { return }
      if state.tracked[index].started == nil { state.tracked[index].started = started }
    }
  }

  private func settled(_ number: Int, _ outcome: Outcome<any Sendable>) {
    let tracked: Tracked? = state.withLock { state in
      guard let index = state.tracked.firstIndex(where: { $0.number == number }) else { return nil }
      state.linesInTheMaking += 1
      return state.tracked.remove(at: index)
    }
    guard let tracked else { return }
    let elapsed = tracked.started.map { now() - $0 }
    // What does not go to a terminal is written in full.
    let frame = TerminalFrame(theme: device.theme, width: device.canDraw ? device.size().width : 0)
    let line = frame.line(title: tracked.title, outcome: outcome, elapsed: elapsed)
    change { state in
      state.linesInTheMaking -= 1
      guard device.canDraw else { return line + "\n" }
      // Until the next drawing the bars show the previous state. After the last operation there is
      // nothing to show.
      let cleared = state.tracked.isEmpty ? state.screen.draw([]) : ""
      return cleared + state.screen.print(line)
    }
  }

  // MARK: - Drawing

  /// Draws the present state. Called by one thread at a time.
  func draw() {
    let (tracked, tick, isFinished) = state.withLock { state in
      state.tick += 1
      return (state.tracked, state.tick, state.isFinished)
    }
    guard !isFinished else { return }
    // Names and progress are read outside of the lock.
    let now = now()
    let size = device.size()
    let frame = TerminalFrame(theme: device.theme, width: size.width)
    let items = tracked.map {
      TerminalWatch.Item(operation: $0.operation, title: $0.title, started: $0.started, watch: $0.watch, depth: 0)
    }
    // One line is for the number of hidden rows, and one for the cursor.
    let limit = device.canDraw ? max(1, min(maxLines, size.height - 2)) : .max
    let snapshot = TerminalWatch.snapshot(of: items, limit: limit, tick: tick, now: now)
    if device.canDraw {
      let lines = frame.lines(of: snapshot)
      change { $0.isPresent(tracked) ? $0.screen.draw(lines) : "" }
    } else {
      let lines = snapshot.rows.filter { $0.elapsed != nil }.map { frame.line(of: $0) + "\n" }
      change { $0.isPresent(tracked) ? lines.joined() : "" }
    }
  }

  /// Draws from time to time, as long as there is something to see.
  private func tickWhileNeeded() {
    let begins = state.withLock { state in
      guard !state.isTicking, !state.isFinished, !state.tracked.isEmpty else { return false }
      state.isTicking = true
      return true
    }
    if begins { setTicker() }
  }

  private func setTicker() {
    guard let timekeeper else { return }
    let number = state.withLock { state in
      state.ticker = (nil, state.ticker.number + 1)
      return state.ticker.number
    }
    let interval: Duration = device.canDraw ? .milliseconds(100) : .seconds(10)
    let timer = timekeeper.after(interval, qualityOfService: .userInitiated) { [weak self] in self?.tick() }
    let isNeeded = state.withLock { state in
      // Another one may have followed it already.
      guard state.ticker.number == number, !state.isFinished else { return false }
      state.ticker.timer = timer
      return true
    }
    if !isNeeded { timekeeper.cancel(timer) }
  }

  private func tick() {
    guard continuesTicking() else { return }
    draw()
    setTicker()
  }

  private func continuesTicking() -> Bool {
    let continues = state.withLock { state in
      state.isTicking = !state.tracked.isEmpty && !state.isFinished
      return state.isTicking
    }
    // The bars of those that have settled since.
    if !continues, device.canDraw { change { $0.tracked.isEmpty ? $0.screen.draw([]) : "" } }
    return continues
  }

  // MARK: - Output

  /// Changes the state, and writes the text of the change, in the order of the changes.
  private func change(_ body: (inout State) -> String) {
    let (begins, waiters) = state.withLock { state in
      state.pending += body(&state)
      guard !state.isWriting, !state.pending.isEmpty else { return (false, state.takeWaiters()) }
      state.isWriting = true
      return (true, [])
    }
    for waiter in waiters { waiter.resume() }
    // Not here: a terminal may be slow, and this may be the thread of an operation.
    if begins { DispatchQueue.global(qos: .userInitiated).async { [self] in writePending() } }
  }

  private func writePending() {
    while true {
      let (text, waiters) = state.withLock { state in
        let text = state.pending
        state.pending = ""
        guard text.isEmpty else { return (text, [CheckedContinuation<Void, Never>]()) }
        state.isWriting = false
        return ("", state.takeWaiters())
      }
      guard !text.isEmpty else { return waiters.forEach { $0.resume() } }
      device.write(text)
    }
  }
}
