import CompositeOperations

extension KnownChildren {
  /// Whether there is anything inside to draw.
  var isWorthDrawing: Bool { !contents.isEmpty || earlier > 0 || plan?.names.isEmpty == false }
}

extension KnownChildren.Plan {
  /// - Parameter count: how many have begun.
  func state(of index: Int, begun count: Int) -> GraphDescription.State {
    if let ended, ended.index == index { return ended.hasFailed ? .failed : .cancelled }
    return index < count ? .finished : .pending
  }
}
