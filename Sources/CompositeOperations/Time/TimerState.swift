/// The state of the timers of one clock: a heap of deadlines, and the actions that wait for them.
///
/// Deadlines are durations since a common origin. The heap holds numbers only. A cancelled timer
/// releases its action at once, and leaves an entry that is dropped when it reaches the top, or
/// when most entries are stale. So setting costs a short walk up the heap, one step for equal
/// timeouts, and cancelling a table look-up.
///
/// An *alarm* wakes the owner of the timers. Alarms are numbered. Either one is set at a time, and
/// only the newest counts, or each is kept until its time: then a further one is set only for a
/// timer that is due before all of them. So there are few, however often an early timer comes and
/// goes beside a late one.
struct TimerState<Action> {
  /// Identifies a timer; never reused.
  struct Token: Equatable {
    fileprivate let slot: Int
    fileprivate let generation: UInt64
  }

  /// What to do with the alarm.
  enum Alarm: Equatable {
    /// Nothing: the alarm is set for the right time, or earlier.
    case keep
    /// Call ``TimerState/due(at:alarm:)`` with this number at this time, instead of an earlier
    /// alarm unless alarms are kept.
    case set(Duration, number: Int)
    /// There is no timer left: cancel the alarm.
    case forget
  }

  private struct Entry {
    let deadline: Duration
    let token: Token
  }

  private struct Slot {
    var generation: UInt64
    var action: Action?
  }

  private var heap: [Entry] = []
  private var slots: [Slot] = []
  private var free: [Int] = []
  private var generation: UInt64 = 0
  /// The alarms that are set, the earliest last. At most one, unless they are kept.
  private var alarms: [(deadline: Duration, number: Int)] = []
  private var lastAlarmNumber = 0
  let keepsAlarms: Bool

  /// How many timers are pending.
  var count: Int { slots.count - free.count }

  /// - Parameter keepsAlarms: whether an alarm stays set, for later timers, when its timer is
  ///   cancelled or an earlier one is set.
  init(keepsAlarms: Bool) {
    self.keepsAlarms = keepsAlarms
  }

  // MARK: - Inputs

  /// Adds a timer.
  mutating func add(at deadline: Duration, _ action: Action) -> (token: Token, alarm: Alarm) {
    generation += 1
    let slot = Slot(generation: generation, action: action)
    let token = Token(slot: free.popLast() ?? slots.count, generation: generation)
    if token.slot < slots.count { slots[token.slot] = slot } else { slots.append(slot) }
    push(Entry(deadline: deadline, token: token))
    return (token, setAlarm(deadline))
  }

  /// Cancels a timer. Returns its action, to be released outside the lock; nil if it was due or
  /// cancelled before.
  mutating func cancel(_ token: Token) -> (action: Action?, alarm: Alarm) {
    guard isPending(token), let action = slots[token.slot].action else { return (nil, .keep) }
    vacate(token.slot)
    if count == 0 {
      heap.removeAll(keepingCapacity: heap.count < 64)
      guard !keepsAlarms, !alarms.isEmpty else { return (action, .keep) }
      alarms = []
      return (action, .forget)
    }
    if heap.count > 64, heap.count > 2 * count { compact() }
    return (action, keepsAlarms ? .keep : advanceAlarm())
  }

  /// Moves the alarm to the earliest pending timer.
  private mutating func advanceAlarm() -> Alarm {
    while let first = heap.first, !isPending(first.token) { pop() }
    guard let alarm = alarms.last, let first = heap.first, first.deadline > alarm.deadline else { return .keep }
    alarms = []
    return setAlarm(first.deadline)
  }

  /// Handles an alarm. Returns the actions that are due, in the order of their deadlines, and the
  /// next alarm.
  mutating func due(at now: Duration, alarm number: Int) -> (actions: [Action], alarm: Alarm) {
    guard let index = alarms.lastIndex(where: { $0.number == number }) else { return ([], .keep) }
    alarms.remove(at: index)
    var actions: [Action] = []
    while let first = heap.first {
      let isPending = isPending(first.token)
      if isPending, first.deadline > now { return (actions, setAlarm(first.deadline)) }
      pop()
      guard isPending, let action = slots[first.token.slot].action else { continue }
      vacate(first.token.slot)
      actions.append(action)
    }
    return (actions, alarms.isEmpty ? .forget : .keep)
  }

  /// Whether the alarm of this number is set.
  func isCurrent(alarm number: Int) -> Bool { alarms.contains { $0.number == number } }

  // MARK: - Parts

  /// Sets an alarm, unless one is set that is no later.
  private mutating func setAlarm(_ deadline: Duration) -> Alarm {
    if let alarm = alarms.last, alarm.deadline <= deadline { return .keep }
    if !keepsAlarms { alarms = [] }
    lastAlarmNumber += 1
    alarms.append((deadline, lastAlarmNumber))
    return .set(deadline, number: lastAlarmNumber)
  }

  private func isPending(_ token: Token) -> Bool {
    // The table is emptied with the last timer, and may have become shorter.
    token.slot < slots.count && slots[token.slot].generation == token.generation && slots[token.slot].action != nil
  }

  private mutating func vacate(_ slot: Int) {
    slots[slot].action = nil
    free.append(slot)
    guard count == 0 else { return }
    // The capacity for the most timers ever is not kept forever.
    slots.removeAll(keepingCapacity: slots.count < 64)
    free.removeAll(keepingCapacity: free.count < 64)
  }

  /// Drops the entries of timers that are gone.
  private mutating func compact() {
    heap = heap.filter { isPending($0.token) }
    var index = heap.count / 2
    while index > 0 {
      index -= 1
      siftDown(from: index)
    }
  }

  // MARK: - Heap

  /// Timers with one deadline are due in the order in which they were added.
  private static func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    left.deadline == right.deadline ? left.token.generation < right.token.generation : left.deadline < right.deadline
  }

  private mutating func push(_ entry: Entry) {
    var index = heap.count
    heap.append(entry)
    while index > 0 {
      let parent = (index - 1) / 2
      guard Self.isBefore(entry, heap[parent]) else { break }
      heap[index] = heap[parent]
      index = parent
    }
    heap[index] = entry
  }

  private mutating func pop() {
    let last = heap.removeLast()
    guard !heap.isEmpty else { return }
    heap[0] = last
    siftDown(from: 0)
  }

  private mutating func siftDown(from start: Int) {
    let entry = heap[start]
    var index = start
    while true {
      var child = 2 * index + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, Self.isBefore(heap[child + 1], heap[child]) { child += 1 }
      guard Self.isBefore(heap[child], entry) else { break }
      heap[index] = heap[child]
      index = child
    }
    heap[index] = entry
  }
}
