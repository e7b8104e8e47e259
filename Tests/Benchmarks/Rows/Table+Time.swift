extension Table {
  /// Timers, and operations with policies that wait.
  static var time: [Row] {
    let timers = [("ContinuousClock", Timers.onContinuousClock), ("a clock of yours", Timers.onOwnClock)].map {
      clock, subject in
      Row(
        section: "100,000 pending timeouts, set and cancelled", name: clock, against: "timer sources of Dispatch",
        count: 100_000, budget: .atMost(0.6),
        measurement: .comparison(
          subject: .blocking { subject(100_000) }, peer: .blocking { DispatchTimers.setAndCancel(100_000) }))
    }
    let count = 10_000
    return timers + [
      Row(
        section: "Timeouts", name: name(count, "children with a timeout"), against: "the same with map", count: count,
        measurement: .comparison(
          subject: .blocking { Timers.runTimed(count) }, peer: .blocking { Timers.runMapped(count) })),
      Row(
        section: "Timeouts", name: name(count, "children that may be retried"), against: "the same with map",
        count: count,
        measurement: .comparison(
          subject: .blocking { Timers.runRetried(count) }, peer: .blocking { Timers.runMapped(count) })),
    ]
  }
}
