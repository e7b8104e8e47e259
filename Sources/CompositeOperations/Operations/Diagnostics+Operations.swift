#if DEBUG
extension Diagnostics {
  /// Reports an operation that was released while it was executing, and so can never settle.
  static func reportReleasedWhileExecuting(_ operation: SettlingOperation, madeAt origin: SourceLocation?) {
    let place = origin.map { ", made at \($0.fileID):\($0.line)," } ?? ""
    let message = """
      CompositeOperations: \(OperationError.describe(operation))\(place) was released while it was executing, so it \
      will never settle. Keep it alive until it has settled: capture it in the callback that ends the work, or run \
      it in an OperationQueue or a composite.

      """
    write(message)
  }
}
#endif
