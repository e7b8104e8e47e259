import CompositeOperations

/// What was seen the last time.
struct PollState {
  // Dates by the store's clock.
  var leaseProlongedAt: Int64?
  var prunedAt: Int64?
  /// When kinds that are not registered here were seen for the first time.
  var unknownKinds: [KindName: Int64] = [:]
  var gaveUpAt: Int64?
  var leases = LeaseWatch()
  var hasOtherWorkers = false
  var outage = Outage()
}

/// How long leases of others have been as they are, by the time that goes on whatever the date is set to.
struct LeaseWatch {
  private var seen: [Int64: (until: Int64, age: Duration)] = [:]
  private var lastLook: Duration?

  /// - Parameter longest: how long it is from one look to the next at most. If it was longer the machine slept, or this
  ///   process stood still, and the others may have, too.
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
