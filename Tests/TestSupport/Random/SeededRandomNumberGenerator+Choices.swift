extension SeededRandomNumberGenerator {
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
