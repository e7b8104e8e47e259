/// Gives whatever might wrongly happen ample opportunity: a number of trips through the dispatch
/// queues.
public func settleDown() async {
  for _ in 0..<200 { await onWorker {} }
}
