extension Table {
  /// Requests as operations, and through a manager, against `URLSession` alone and the same server.
  static var http: [Row] {
    let count = 64 * 16
    return [
      Row(
        section: "HTTP", name: "64 requests at a time", against: "URLSession", count: count,
        // At least 0.95 of its throughput.
        budget: .atMost(1 / 0.95),
        measurement: .comparison(
          subject: .async { await Requests.runOperations(count) }, peer: .async { await Requests.runPlain(count) })),
      Row(
        section: "HTTP", name: "64 requests at a time through a manager", against: "URLSession", count: count,
        // At least 0.9 of its throughput.
        budget: .atMost(1 / 0.9),
        measurement: .comparison(
          subject: .async { await Requests.runManaged(count) }, peer: .async { await Requests.runPlain(count) })),
    ]
  }
}
