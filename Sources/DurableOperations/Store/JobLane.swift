/// Jobs of one kind that are claimed together; each kind has four lanes. The lowest bits of a
/// lane's number say what its jobs need; the other bits are the kind.
enum JobLane {
  enum Bit: Int64 {
    case network = 1
    /// Nothing else runs in the process meanwhile.
    case alone = 2
  }

  static func number(ofKind kind: Int64) -> Int64 { kind << 2 }
  static func all(ofKind kind: Int64) -> ClosedRange<Int64> { number(ofKind: kind)...number(ofKind: kind) + 3 }
  static func kind(of lane: Int64) -> Int64 { lane >> 2 }
}
