/// The timers of one clock, as a value: a heap of deadlines, and the actions that wait for them.
///
/// Deadlines are durations since an origin that all of them share. The heap holds numbers only; a cancelled timer gives
/// its action up at once, and leaves an entry behind that is dropped when it comes to the top, or when most entries are
/// such. So setting costs a short walk up the heap, which is one step for equal timeouts, and cancelling nothing more
/// than a look into a table.
///
/// An *alarm* wakes whoever owns the timers. Alarms are numbered. Either one is set at a time, and only the newest counts, or each is
/// kept until its time: then a further one is set only for a timer that is due before all of them, so that there are few, however
/// often an early timer comes and goes beside a late one.
struct TimerState<Action> {
  /// Names a timer. Never used again once the timer is gone.
  struct Token: Equatable {
    fileprivate let slot: Int
    fileprivate let generation: UInt64
  }

  /// What has to be done with the alarm.
  enum Alarm: Equatable {
    /// Nothing: it is set for the right time, or earlier.
    case keep
    /// Have ``TimerState/due(at:alarm:)`` called with this number at this time: instead of what was set before, unless alarms are
    /// kept.
    case set(Duration, number: Int)
    /// There is no timer any more: forget what was set before.
    case forget
  }

  private struct Entry {
    let deadline: Duration
    let slot: Int
    let generation: UInt64
  }

  private struct Slot {
    var generation: UInt64
    var action: Action?
  }

  private var heap: [Entry] = []
  private var slots: [Slot] = []
  private var free: [Int] = []
  private var generation: UInt64 = 0
  /// Those that are set, the earliest last. No more than one, unless they are kept.
  private var alarms: [(deadline: Duration, number: Int)] = []
  private var lastAlarmNumber = 0
  let keepsAlarms: Bool

  /// How many timers are pending.
  private(set) var count = 0

  /// - Parameter keepsAlarms: whether an alarm stays set when its timer was cancelled, or an earlier one is set, for the next timer.
  init(keepsAlarms: Bool) {
    self.keepsAlarms = keepsAlarms
  }

  // MARK: - Inputs

  /// Adds a timer.
  mutating func add(at deadline: Duration, _ action: Action) -> (token: Token, alarm: Alarm) {
    generation += 1
    let slot: Int
    if let last = free.popLast() {
      slot = last
      slots[slot] = Slot(generation: generation, action: action)
    } else {
      slot = slots.count
      slots.append(Slot(generation: generation, action: action))
    }
    count += 1
    push(Entry(deadline: deadline, slot: slot, generation: generation))
    let token = Token(slot: slot, generation: generation)
    return (token, setAlarm(deadline))
  }

  /// Cancels a timer. Returns its action, to be released outside the lock; nil if it was due or cancelled before.
  mutating func cancel(_ token: Token) -> (action: Action?, alarm: Alarm) {
    guard slots.indices.contains(token.slot), slots[token.slot].generation == token.generation,
      let action = slots[token.slot].action
    else { return (nil, .keep) }
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

  /// The alarm belongs to a timer that is pending.
  private mutating func advanceAlarm() -> Alarm {
    while let first = heap.first, !isPending(first) { pop() }
    guard let alarm = alarms.last, let first = heap.first, first.deadline > alarm.deadline else { return .keep }
    alarms = []
    return setAlarm(first.deadline)
  }

  /// An alarm went off. Returns the actions that are due, in the order of their deadlines, and when to come back.
  mutating func due(at now: Duration, alarm number: Int) -> (actions: [Action], alarm: Alarm) {
    guard let index = alarms.lastIndex(where: { $0.number == number }) else { return ([], .keep) }
    alarms.remove(at: index)
    var actions: [Action] = []
    while let first = heap.first {
      let isPending = isPending(first)
      if isPending, first.deadline > now { return (actions, setAlarm(first.deadline)) }
      pop()
      guard isPending, let action = slots[first.slot].action else { continue }
      vacate(first.slot)
      actions.append(action)
    }
    return (actions, alarms.isEmpty ? .forget : .keep)
  }

  /// Whether the alarm of this number counts.
  func isCurrent(alarm number: Int) -> Bool { alarms.contains { $0.number == number } }

  // MARK: - Parts

  /// Sets an alarm, unless one is set that is not later.
  private mutating func setAlarm(_ deadline: Duration) -> Alarm {
    if let alarm = alarms.last, alarm.deadline <= deadline { return .keep }
    if !keepsAlarms { alarms = [] }
    lastAlarmNumber += 1
    alarms.append((deadline, lastAlarmNumber))
    return .set(deadline, number: lastAlarmNumber)
  }

  private func isPending(_ entry: Entry) -> Bool {
    // The table is emptied with the last timer, and may be shorter than it was.
    entry.slot < slots.count && slots[entry.slot].generation == entry.generation && slots[entry.slot].action != nil
  }

  private mutating func vacate(_ slot: Int) {
    slots[slot].action = nil
    count -= 1
    if count == 0 {
      // As many as there ever were at once are not kept for ever.
      slots.removeAll(keepingCapacity: slots.count < 64)
      free.removeAll(keepingCapacity: free.count < 64)
    } else {
      free.append(slot)
    }
  }

  /// Drops the entries of timers that are gone.
  private mutating func compact() {
    heap = heap.filter { isPending($0) }
    var index = heap.count / 2
    while index > 0 {
      index -= 1
      siftDown(from: index)
    }
  }

  // MARK: - Heap

  /// Timers with one deadline are due in the order in which they were added.
  private static func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    left.deadline == right.deadline ? left.generation < right.generation : left.deadline < right.deadline
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
