import Testing

@testable import CompositeOperations

/// Which operation gets a category when, step by step.
@Suite("Exclusion: the state")
struct ExclusionStateTests {
  /// A state whose owners are letters.
  private struct Registry {
    var state = ExclusionState<String>()
    var lastNumber = 0
    var numbers: [String: Int] = [:]
    var ancestors: [String: [Int]] = [:]

    /// Returns the answer, and the owners that were granted in consequence.
    @discardableResult
    mutating func request(_ owner: String, _ categories: ExclusionCategory..., in parent: String? = nil) -> String {
      let around = parent.map { [numbers[$0]!] + ancestors[$0]! } ?? []
      lastNumber += 1
      (numbers[owner], ancestors[owner]) = (lastNumber, around)
      let (answer, change) = state.request(categories, for: owner, number: lastNumber, ancestors: around)
      let text =
        switch answer {
        case .granted: "granted"
        case .waiting: "waits"
        case .refused(let circle):
          "refused: " + circle.map { "\($0.waiting) \($0.category.name) \($0.holding)" }.joined(separator: ", ")
        }
      return ([text] + change.granted).joined(separator: " ")
    }

    /// Returns those whose turn came.
    @discardableResult
    mutating func release(_ owner: String) -> [String] { state.release(numbers[owner]!).granted }

    var isForgotten: Bool { state.reservations.isEmpty && state.lines.isEmpty }
  }

  @Test func request_ofFreeCategories_isGranted() {
    var registry = Registry()
    #expect(registry.request("A", "x", "y", "x") == "granted")
    #expect(registry.request("B", "z") == "granted")
    #expect(registry.request("C") == "granted")
    for owner in ["A", "B", "C"] { #expect(registry.release(owner) == []) }
    #expect(registry.isForgotten)
  }

  @Test func requests_ofOneCategory_areGrantedInOrder() {
    var registry = Registry()
    registry.request("A", "x")
    for owner in ["B", "C", "D"] { #expect(registry.request(owner, "x") == "waits") }
    #expect(registry.release("A") == ["B"])
    #expect(registry.release("C") == [])  // it leaves the line
    #expect(registry.release("B") == ["D"])
    #expect(registry.release("B") == [])  // the second time nothing happens
    #expect(registry.release("D") == [])
    #expect(registry.isForgotten)
  }

  @Test func request_ofSeveralCategories_takesAllAtOnceOrNone() {
    var registry = Registry()
    registry.request("A", "x")
    #expect(registry.request("B", "x", "y") == "waits")
    #expect(registry.state.lines["y"]?.inUse == 0)
    // It would be free, but B came first.
    #expect(registry.request("C", "y") == "waits")
    #expect(registry.request("D", "z") == "granted")
    #expect(registry.release("A") == ["B"])
    #expect(registry.release("B") == ["C"])
  }

  @Test func waiter_thatLeaves_letsThoseBehindItGo() {
    var registry = Registry()
    registry.request("A", "x")
    registry.request("B", "x", "y")
    registry.request("C", "y")
    #expect(registry.release("B") == ["C"])
  }

  @Test func limit_aboveOne_letsSeveralIn() {
    var registry = Registry()
    _ = registry.state.setLimit(2, of: "x")
    #expect(registry.request("A", "x") == "granted")
    #expect(registry.request("B", "x") == "granted")
    #expect(registry.request("C", "x") == "waits")
    #expect(registry.request("D", "x") == "waits")
    #expect(registry.state.setLimit(4, of: "x").granted == ["C", "D"])
    #expect(registry.state.setLimit(1, of: "x").granted == [])
    registry.request("E", "x")
    for owner in ["A", "B", "C"] { #expect(registry.release(owner) == []) }
    #expect(registry.release("D") == ["E"])
  }

  @Test func nestedRequest_ofWhatIsHeldAround_isGrantedAtOnce() {
    var registry = Registry()
    registry.request("A", "x")
    registry.request("W", "x")
    #expect(registry.request("B", "x", in: "A") == "granted")
    #expect(registry.request("C", "x", "y", in: "B") == "granted")
    // The operation inside may outlive the outer one: a body that continues after a timeout.
    #expect(registry.release("A") == [])
    #expect(registry.release("B") == [])
    #expect(registry.release("C") == ["W"])
  }

  @Test func nestedRequests_inACircle_areRefused() {
    var registry = Registry()
    registry.request("A", "x")
    registry.request("B", "y")
    #expect(registry.request("a", "y", in: "A") == "waits")
    #expect(registry.request("b", "x", in: "B") == "refused: b x A, a y B")
    #expect(registry.release("B") == ["a"])
  }

  @Test func nestedRequests_inALongCircle_areRefused() {
    var registry = Registry()
    for (owner, category) in [("A", "x"), ("B", "y"), ("C", "z")] {
      registry.request(owner, ExclusionCategory(category))
    }
    #expect(registry.request("a", "y", in: "A") == "waits")
    #expect(registry.request("b", "z", in: "B") == "waits")
    #expect(registry.request("c", "x", in: "C") == "refused: c x A, a y B, b z C")
    // Not nested, it blocks no other.
    #expect(registry.request("D", "x", "y", "z") == "waits")
    #expect(registry.release("C") == ["b"])
  }

  @Test func semaphores_areACircleOnlyWhenNobodyElseCanLetGo() {
    var registry = Registry()
    _ = registry.state.setLimit(2, of: "x")
    registry.request("A", "x")
    registry.request("F", "x")
    registry.request("B", "y")
    #expect(registry.request("a", "y", in: "A") == "waits")
    // F may release x.
    #expect(registry.request("b", "x", in: "B") == "waits")
    // F would now wait for B, which waits for A or F, which both wait for B.
    #expect(registry.request("f", "y", in: "F").hasPrefix("refused: f y B, b x "))
    #expect(registry.release("F") == ["b"])
  }

  @Test func nestedRequest_goesAheadOfThoseThatWaitForItsHolder() {
    var registry = Registry()
    registry.request("A", "x")
    #expect(registry.request("B", "x", "y") == "waits")
    #expect(registry.request("C", "y") == "waits")
    // B waits for A, and C for B.
    #expect(registry.request("a", "y", in: "A") == "granted")
    #expect(registry.release("a") == [])
    #expect(registry.release("A") == ["B"])
    #expect(registry.release("B") == ["C"])
  }

  @Test func nestedRequest_doesNotGoAheadOfOthers() {
    var registry = Registry()
    registry.request("A", "x")
    registry.request("F", "z")
    registry.request("B", "z", "y")
    // B waits for F, which is free to finish.
    #expect(registry.request("a", "y", in: "A") == "waits")
    #expect(registry.release("F") == ["B"])
    #expect(registry.release("B") == ["a"])
  }

  @Test func nestedRequest_thatCanNotGoAheadYet_doesWhenThereIsRoom() {
    var registry = Registry()
    registry.request("A", "x")
    registry.request("F", "y")
    registry.request("B", "x", "y")
    #expect(registry.request("a", "y", in: "A") == "waits")
    #expect(registry.release("F") == ["a"])
    #expect(registry.release("a") == [])
    #expect(registry.release("A") == ["B"])
  }

  @Test func lowerLimit_thatClosesACircle_refusesOne() {
    var registry = Registry()
    _ = registry.state.setLimit(2, of: "x")
    registry.request("A", "x")
    registry.request("B", "y")
    registry.request("F", "x")
    registry.request("a", "y", in: "A")
    registry.request("b", "x", in: "B")
    // F may release x, but there is still no room: A waits for B, and B for A.
    let change = registry.state.setLimit(1, of: "x")
    #expect(change.refused.map(\.owner) == ["b"])
    #expect(change.refused.first?.circle.map(\.holding) == ["A", "B"])
    #expect(change.granted == [])
    #expect(registry.release("B") == ["a"])
  }

  @Test func manyWaiters_leaveInAnyOrder() {
    var registry = Registry()
    registry.request("A", "x")
    for number in 0..<1_000 { registry.request("\(number)", "x") }
    for number in stride(from: 0, to: 1_000, by: 2) { #expect(registry.release("\(number)") == []) }
    var order: [String] = []
    var last = "A"
    while let next = registry.release(last).first {
      order.append(next)
      last = next
    }
    #expect(order == stride(from: 1, to: 1_000, by: 2).map { "\($0)" })
    #expect(registry.isForgotten)
  }
}
