/// Gives wrong events ample opportunity to happen: a number of trips through the dispatch queues.
public func settleDown() async {
  for _ in 0..<200 { await onWorker {} }
}
