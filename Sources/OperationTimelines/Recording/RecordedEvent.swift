import CompositeOperations

/// One thing that happened to one operation, in 32 bytes.
struct RecordedEvent {
  enum Kind: UInt8 {
    case added, started, settled
  }

  enum Ending: UInt8 {
    case none, success, failure, cancelled
  }

  /// Nanoseconds since the recorder was made.
  let time: Int64
  /// The address of the operation's class, when it settled. Classes are never released.
  let type: UInt
  /// The number of the composition that the operation is in.
  let scope: UInt32
  /// Its number there.
  let tag: Int32
  let attempt: UInt32
  let kind: Kind
  var ending = Ending.none
  /// Whether the class is not one of the package's.
  var isPlain = false
}

/// What is known of few operations only.
struct RecordedText {
  let scope: UInt32
  let tag: Int32
  let name: String?
  /// What the error said.
  let message: String?
  /// Which composition it is.
  let kind: OperationKind?
}
