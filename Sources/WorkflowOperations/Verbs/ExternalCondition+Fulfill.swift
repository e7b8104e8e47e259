extension ExternalCondition {
  /// Gives the condition its value. If it executes, it finishes with it; else the value is kept until it does, and
  /// nothing is started. `reset()` drops the value; `cancel()` and `retry()` do not.
  ///
  /// - Returns: false if the condition is fulfilled already; the value is then ignored.
  @discardableResult
  public func fulfill(with value: Value) -> Bool {
    workflow.input { $0.fulfill(index, with: value) }
  }
}

extension ExternalCondition where Value == Void {
  /// Says that the condition has come true; see ``fulfill(with:)``.
  ///
  /// - Returns: false if the condition is fulfilled already.
  @discardableResult
  public func fulfill() -> Bool {
    fulfill(with: ())
  }
}
