/// A small generator with one word of state: the same seed gives the same numbers everywhere.
public struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Makes a generator; any seed is as good as another.
  public init(seed: UInt64) {
    state = seed
  }

  /// The next 64 random bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True in `percent` of 100 cases.
  public mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &self) < percent
  }

  /// A number of `range`.
  public mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &self)
  }

  /// One of `elements`, which must not be empty.
  public mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  /// One of `choices`, each as likely as its weight says.
  public mutating func pick<Element>(weighted choices: KeyValuePairs<Int, Element>) -> Element {
    var ticket = Int.random(in: 0..<choices.reduce(0) { $0 + $1.key }, using: &self)
    for (weight, element) in choices {
      if ticket < weight { return element }
      ticket -= weight
    }
    preconditionFailure("the ticket is below the sum of the weights")
  }
}
