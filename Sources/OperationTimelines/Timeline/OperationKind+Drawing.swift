import CompositeOperations

extension OperationKind {
  /// Whether an entry of this kind without children is work.
  var isWork: Bool { !isWrapper && self != .wait }

  /// Whether it is one unit, not a composition.
  var isUnit: Bool { self == .operation || self == .plain || self == .wait }

  /// Whether its children start one after another by design, so that drawings join them with
  /// arrows.
  var isOrdered: Bool {
    switch self {
    case .sequence, .then, .map, .mapAsync, .recover, .settled, .pipeline, .retry, .repeating, .condition,
      .exclusive, .limited, .guarded:
      true
    default: false
    }
  }

  /// Whether it stands for the work of others: what it was made from, or what it continues with.
  var isWrapper: Bool {
    switch self {
    case .then, .map, .mapAsync, .recover, .settled, .timeout, .retry, .repeating, .condition, .exclusive, .limited,
      .guarded, .prerequisites:
      true
    default: false
    }
  }
}
