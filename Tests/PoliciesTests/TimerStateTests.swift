import TestSupport
import Testing

@testable import CompositeOperations

@Suite("Timers: the state machine", .hangLimit)
struct TimerStateTests {
  private func seconds(_ count: Int) -> Duration { .seconds(count) }

  @Test("add: the first sets the alarm, a later one keeps it, an earlier one replaces it")
  func add_setsTheAlarmForTheEarliest() {
    var timers = TimerState<String>(keepsAlarms: false)
    #expect(timers.add(at: seconds(5), "a").alarm == .set(seconds(5), number: 1))
    #expect(timers.add(at: seconds(6), "b").alarm == .keep)
    #expect(timers.add(at: seconds(5), "c").alarm == .keep)
    #expect(timers.add(at: seconds(4), "d").alarm == .set(seconds(4), number: 2))
    #expect(timers.count == 4)
  }

  @Test("due: actions come by deadline, then in the order in which they were added, and the next alarm is set")
  func due_givesActionsInOrder() {
    var timers = TimerState<String>(keepsAlarms: false)
    _ = timers.add(at: seconds(2), "second")
    _ = timers.add(at: seconds(2), "third")
    _ = timers.add(at: seconds(1), "first")
    _ = timers.add(at: seconds(9), "later")
    let due = timers.due(at: seconds(2), alarm: 2)
    #expect(due.actions == ["first", "second", "third"])
    #expect(due.alarm == .set(seconds(9), number: 3))
    #expect(timers.due(at: seconds(9), alarm: 3).actions == ["later"])
    #expect(timers.count == 0)
  }

  @Test("due: an alarm that was replaced does nothing")
  func due_ofReplacedAlarm_isIgnored() {
    var timers = TimerState<String>(keepsAlarms: false)
    _ = timers.add(at: seconds(5), "a")
    _ = timers.add(at: seconds(4), "b")
    let due = timers.due(at: seconds(9), alarm: 1)
    #expect(due.actions.isEmpty)
    #expect(due.alarm == .keep)
    #expect(timers.due(at: seconds(9), alarm: 2).actions == ["b", "a"])
  }

  @Test("cancel: gives the action up once; the alarm becomes that of the next timer, and goes with the last one")
  func cancel_givesTheActionUp() {
    var timers = TimerState<String>(keepsAlarms: false)
    let first = timers.add(at: seconds(1), "a").token
    let second = timers.add(at: seconds(2), "b").token
    let cancelled = timers.cancel(first)
    #expect(cancelled.action == "a" && cancelled.alarm == .set(seconds(2), number: 2))
    #expect(timers.cancel(first).action == nil)
    let last = timers.cancel(second)
    #expect(last.action == "b")
    #expect(last.alarm == .forget)
    #expect(timers.add(at: seconds(3), "c").alarm == .set(seconds(3), number: 3))
  }

  @Test("cancel: an alarm that is kept serves the next timer, and comes back for it")
  func cancel_keepingAlarm() {
    var timers = TimerState<String>(keepsAlarms: true)
    let token = timers.add(at: seconds(1), "a").token
    #expect(timers.cancel(token).alarm == .keep)
    #expect(timers.add(at: seconds(2), "b").alarm == .keep)
    let early = timers.due(at: seconds(1), alarm: 1)
    #expect(early.actions.isEmpty)
    #expect(early.alarm == .set(seconds(2), number: 2))
    #expect(timers.due(at: seconds(2), alarm: 2).actions == ["b"])
  }

  @Test("due: an early timer that comes and goes beside a late one leaves no alarm behind, where alarms are kept")
  func due_keepingAlarms_setsTheLateAlarmOnce() {
    var timers = TimerState<String>(keepsAlarms: true)
    #expect(timers.add(at: seconds(5_000), "late").alarm == .set(seconds(5_000), number: 1))
    for second in 1...1_000 {
      #expect(timers.add(at: seconds(second), "early").alarm == .set(seconds(second), number: second + 1))
      let due = timers.due(at: seconds(second), alarm: second + 1)
      #expect(due.actions == ["early"])
      #expect(due.alarm == .keep)
    }
    #expect(timers.due(at: seconds(5_000), alarm: 1).actions == ["late"])
  }

  @Test("due: a late alarm that is kept, and is heard before an early one, does the work of both")
  func due_ofKeptAlarm_heardFirst() {
    var timers = TimerState<String>(keepsAlarms: true)
    _ = timers.add(at: seconds(5), "late")
    _ = timers.add(at: seconds(1), "early")
    _ = timers.add(at: seconds(9), "last")
    let both = timers.due(at: seconds(6), alarm: 1)
    #expect(both.actions == ["early", "late"])
    #expect(both.alarm == .keep, "the early one is still to come")
    #expect(timers.due(at: seconds(6), alarm: 2).alarm == .set(seconds(9), number: 3))
  }

  @Test("cancel: the token of an old timer does not cancel the timer that reuses its slot")
  func cancel_ofReusedPlace_isIgnored() {
    var timers = TimerState<String>(keepsAlarms: true)
    let gone = timers.add(at: seconds(1), "a").token
    _ = timers.cancel(gone)
    _ = timers.add(at: seconds(1), "b")
    #expect(timers.cancel(gone).action == nil)
    #expect(timers.count == 1)
  }

  @Test("random walks: the due actions are those of a sorted list", arguments: 0..<200)
  func walk_agreesWithSortedList(seed: Int) {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    let keepsAlarms = random.chance(50)
    var timers = TimerState<Int>(keepsAlarms: keepsAlarms)
    var model: [(id: Int, deadline: Int, token: TimerState<Int>.Token)] = []
    // One alarm, unless alarms are kept.
    var alarms: [(at: Duration, number: Int)] = []
    var now = 0
    func note(_ action: TimerState<Int>.Alarm) {
      switch action {
      case .keep: break
      case .set(let deadline, let number):
        if !keepsAlarms { alarms = [] }
        alarms.append((deadline, number))
      case .forget: alarms = []
      }
    }
    for id in 0..<random.number(1...400) {
      switch random.number(0...9) {
      case 0...5:
        let deadline = now + random.number(1...50)
        let (token, action) = timers.add(at: seconds(deadline), id)
        model.append((id, deadline, token))
        note(action)
      case 6...8 where !model.isEmpty:
        let victim = model.remove(at: random.number(0...model.count - 1))
        let (action, alarmAction) = timers.cancel(victim.token)
        #expect(action == victim.id)
        note(alarmAction)
      default:
        guard !alarms.isEmpty else { break }
        // Alarms at about the same time arrive in any order.
        let set = alarms.remove(at: max(0, alarms.count - random.number(1...2)))
        now = max(now, Int(set.at / .seconds(1)) + random.number(0...5))
        let due = timers.due(at: seconds(now), alarm: set.number)
        note(due.alarm)
        let expected = model.filter { $0.deadline <= now }.sorted { ($0.deadline, $0.id) < ($1.deadline, $1.id) }
        #expect(due.actions == expected.map(\.id))
        model.removeAll { $0.deadline <= now }
      }
      #expect(timers.count == model.count)
      if let earliest = model.map(\.deadline).min() {
        #expect((alarms.last?.at).map { $0 <= seconds(earliest) } == true, "nobody comes for the earliest")
        #expect(keepsAlarms || alarms.last?.at == seconds(earliest), "the alarm is none of a pending timer's")
      }
    }
  }
}
