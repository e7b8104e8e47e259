import Testing

@testable import PhotoOrder

@Suite struct FailurePlanTests {
  @Test func sameSeed_makesTheSameFailures_otherSeedsMakeOthers() {
    func failures(_ seed: UInt64) -> [Double?] {
      let plan = FailurePlan(probability: 0.5, seed: seed)
      return TaskName.all(photoCount: 9).flatMap { task in (1...9).map { plan.failure(of: task, attempt: $0) } }
    }
    #expect(failures(7) == failures(7))
    #expect(failures(7) != failures(8))
  }

  @Test func probability_isThatOfAFailure() {
    func count(_ probability: Double) -> Int {
      let plan = FailurePlan(probability: probability, seed: 7)
      return (1...1_000).count { plan.failure(of: "Upload Photo 1", attempt: $0) != nil }
    }
    #expect(count(0) == 0)
    #expect(count(1) == 1_000)
    #expect((150...250).contains(count(0.2)))
    // What fails at a low probability fails at a higher one, too.
    let low = FailurePlan(probability: 0.2, seed: 7)
    let high = FailurePlan(probability: 0.6, seed: 7)
    for attempt in 1...100 {
      if let moment = low.failure(of: "a", attempt: attempt) {
        #expect(high.failure(of: "a", attempt: attempt) == moment)
      }
    }
  }

  @Test func moment_liesWithinTheAttempt() {
    let plan = FailurePlan(probability: 1, seed: 0)
    for attempt in 1...1_000 { #expect(plan.failure(of: "a", attempt: attempt).map { (0..<1).contains($0) } == true) }
  }
}
