/// The fields of an operation that few operations need, made when the first of them is set.
final class RareFields {
  var onCancel: (@Sendable () -> Void)?
  /// Called if the operation is cancelled, or settled, while it waits for its dependencies inside a composition.
  var whenDecidedUnstarted: (@Sendable () -> Void)?
  /// Observations after the first, for which the operation itself has a place.
  var furtherObservations: [Observation] = []
  /// Who is told of every event.
  var hub: (any EventSink)?
  /// How far the operation is, once somebody has asked, or it has told.
  var progress: (any ProgressSink)?
  var progressWeight = 1.0

  /// What is still needed once the operation has settled.
  var lasting: RareFields? {
    guard progress != nil || progressWeight != 1 else { return nil }
    let lasting = RareFields()
    lasting.progress = progress
    lasting.progressWeight = progressWeight
    return lasting
  }
}
