import CompositeOperations

/// What the last look found.
struct PollState {
  // Dates by the store's clock.
  var leaseProlongedAt: Int64?
  var prunedAt: Int64?
  /// When a periodic job could not be enqueued; nil if none is left that could not.
  var periodicFailedAt: Int64?
  /// When this process first saw each kind that it has not registered.
  var unknownKinds: [KindName: Int64] = [:]
  var gaveUpAt: Int64?
  var leases = LeaseWatch()
  var hasOtherWorkers = false
  var outage = Outage()
}

/// How long the leases of other processes have been unchanged, by a clock that setting the date
/// does not affect.
struct LeaseWatch {
  private var seen: [Int64: (until: Int64, age: Duration)] = [:]
  private var lastLook: Duration?

  /// - Parameter longest: the longest time from one look to the next. If more time passed, the
  ///   machine slept or this process stood still, and other processes may have, too.
  mutating func ages(of workers: [WorkerRow], at uptime: Duration, longest: Duration) -> [Int64: Duration] {
    let step = lastLook.map { min(max(uptime - $0, .zero), longest) } ?? .zero
    lastLook = uptime
    var now: [Int64: (until: Int64, age: Duration)] = [:]
    for worker in workers {
      let before = seen[worker.id].flatMap { $0.until == worker.leaseUntil ? $0.age + step : nil }
      now[worker.id] = (worker.leaseUntil, before ?? .zero)
    }
    seen = now
    return now.mapValues(\.age)
  }
}
