/// How the progress of a composition follows from that of its children.
enum ProgressShape: Equatable {
  /// So many children, all of which are wanted.
  case parallel(count: Int)
  /// One child after the other, so many in all; nil if that is not known.
  case steps(Int?)
  /// Whatever child there is does the whole work: the last one that gets further than those before.
  case inner
  /// Somebody else counts what is done; nil if that is not known.
  case driven((done: Int, total: Int)?)

  static func == (left: ProgressShape, right: ProgressShape) -> Bool {
    switch (left, right) {
    case (.parallel(let left), .parallel(let right)): left == right
    case (.steps(let left), .steps(let right)): left == right
    case (.inner, .inner): true
    case (.driven(let left), .driven(let right)): left?.done == right?.done && left?.total == right?.total
    case (.parallel, _), (.steps, _), (.inner, _), (.driven, _): false
    }
  }
}
