import CompositeOperations

extension OperationKind {
  /// Whether what has no children does something itself.
  var isWork: Bool { !isWrapper && self != .wait }

  /// Whether it is one unit, and no composition.
  var isUnit: Bool { self == .operation || self == .plain || self == .wait }

  /// Whether one of its children starts after another by design, so that drawings join them with arrows.
  var isOrdered: Bool {
    switch self {
    case .sequence, .then, .map, .mapAsync, .recover, .settled, .pipeline, .retry, .repeating, .condition,
      .exclusive, .limited, .guarded:
      true
    default: false
    }
  }

  /// Whether it stands for work that others do: what it was made from, or what it goes on with.
  var isWrapper: Bool {
    switch self {
    case .then, .map, .mapAsync, .recover, .settled, .timeout, .retry, .repeating, .condition, .exclusive, .limited,
      .guarded, .prerequisites:
      true
    default: false
    }
  }
}
