/// The fields of an operation that few operations need, made when the first of them is set.
final class RareFields: ContextHolder {
  private var storedContext: ContextValues?
  override var context: ContextValues? { storedContext }

  var onCancel: (@Sendable () -> Void)?
  /// Called if the operation is cancelled or settled while it waits for its dependencies inside a
  /// composition.
  var whenDecidedUnstarted: (@Sendable () -> Void)?
  /// Called if the last unfinished dependency is removed while the operation waits for it.
  var whenNothingIsAwaited: (@Sendable () -> Void)?
  /// All observations but the first, which has a field in the operation itself.
  var furtherObservations: [Observation] = []
  /// The hub, which receives every event.
  var hub: (any EventSink)?
  /// The progress node, once the progress was read or reported.
  var progress: (any ProgressSink)?
  var progressWeight = 1.0

  init(context: ContextValues?) {
    storedContext = context
  }

  func setContext(_ context: ContextValues?) { storedContext = context }

  /// What is still needed after the operation has settled.
  var lasting: ContextHolder? {
    guard progress != nil || progressWeight != 1 else { return context }
    let lasting = RareFields(context: context)
    lasting.progress = progress
    lasting.progressWeight = progressWeight
    return lasting
  }
}
