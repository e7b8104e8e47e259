import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

/// The text of errors: the operation, the cause and the remedy, in a bounded length.
@Suite("10 Text of errors", .hangLimit)
struct ErrorTextTests {
  private let clock = ManualClock()
  private let once = RetryPolicy(maxAttempts: 1, backoff: .noDelay)

  /// Expects no internal type in the text of an error.
  private func expectNoInternals(_ text: String) {
    for type in ["ComposedOperation", "GateOperation", "Evaluation", "Source"] {
      #expect(!text.contains(type), "\(text)")
    }
  }

  // MARK: - Names

  @Test("An operation that a policy or map returns has the name of the wrapped one, until it has its own")
  func name_ofWrapper_isThatOfItsWork() async throws {
    let named: @Sendable () -> SimpleOperation<Int> = { succeeding(1, named: "photo 7") }
    let wrappers: [SimpleOperation<Int>] = [
      named().timeout(.seconds(1), clock: clock), named().retrying { _ in named() }, named().exclusive("a"),
      named().condition(Condition { _ in true }), named().map { $0 }, named().recover { _ in named() },
      named().mapAsync { $0 }, named().map { $0 }.timeout(.seconds(1), clock: clock).exclusive("b"),
    ]
    for wrapper in wrappers {
      #expect(wrapper.name == "photo 7")
      _ = try await wrapper.run()
      #expect(wrapper.name == "photo 7")
      wrapper.name = "other"
      #expect(wrapper.name == "other")
      wrapper.name = nil
      #expect(wrapper.name == "photo 7")
    }
    let retried = retrying(once) { _ in named() }
    #expect(retried.name == nil)
    _ = try await retried.run()
    #expect(retried.name == "photo 7")
    #expect(succeeding(1).map { $0 }.timeout(.seconds(1), clock: clock).name == nil)
    #expect(named().then { succeeding($0, named: "next") }.name == nil)
    #expect(BlockOperation(named: "block").asSimpleOperation().timeout(.seconds(1), clock: clock).name == "block")
  }

  @Test("A name that is set later counts, too")
  func name_setAfterWrapping_isSeen() {
    let work = succeeding(1)
    let wrapper = work.map { $0 }.timeout(.seconds(1), clock: clock).condition(Condition { _ in true })
    work.name = "late"
    #expect(wrapper.name == "late")
    var deep: SimpleOperation<Int> = succeeding(1)
    for _ in 0..<100_000 { deep = deep.map { $0 } }
    #expect(deep.name == nil)
  }

  @Test("A name that is set later is in errors, and stays when the wrapper has settled")
  func name_setAfterWrapping_isInErrors() async throws {
    let work = failing(TestError.first, as: Int.self)
    let wrapper = work.timeout(.seconds(1), clock: clock)
    work.name = "late"
    let composite = CompositeOperation(operations: [wrapper])
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures[0].operationName == "late" && wrapper.name == "late")

    let first = failing(TestError.first, as: Int.self)
    let retried = first.retrying(once) { _ in succeeding(1) }
    first.name = "late"
    let retryError = try #require(await outcomeOfStarting(retried).error as? RetryError)
    #expect(retryError.operationName == "late" && retried.name == "late")
  }

  @Test("A name that is set later stays, however the wrapper has ended", arguments: ["run", "cancelled", "unrun"])
  func name_setAfterWrapping_staysAfterTheEnd(end: String) async {
    let (clock, once) = (clock, once)
    let wraps: [(SimpleOperation<Int>) -> SimpleOperation<Int>] = [
      { $0.timeout(.seconds(1), clock: clock) }, { $0.condition(Condition { _ in true }) }, { $0.map { $0 } },
      { $0.exclusive("a", in: ExclusionRegistry()).map { $0 } }, { $0.mapAsync { $0 } },
      { $0.retrying(once) { _ in succeeding(1) } }, { $0.recover { _ in succeeding(2, named: "other") } },
    ]
    for wrap in wraps {
      let work = HeldOperation<Int>(settlesWhenCancelled: true)
      let wrapper = wrap(work)
      work.name = "late"
      if end == "unrun" { wrapper.cancel() }
      await onWorker { wrapper.start() }
      if end == "cancelled" {
        await work.started.wait()
        wrapper.cancel()
      }
      if end == "run" { work.reject(with: TestError.first) }
      _ = await settled(wrapper)
      #expect(wrapper.name == "late")
    }
  }

  @Test("A composite's error names the composite, and each child by the name of the wrapped operation")
  func compositeError_namesCompositeAndWrappedChild() async throws {
    let album = CompositeOperation(operations: [
      failing(TestError.first, named: "photo 7").timeout(.seconds(1), clock: clock)
    ])
    album.name = "album"
    let error = try #require(await outcomeOfStarting(album).error as? CompositeError)
    #expect(error.operationName == "album" && error.failures[0].operationName == "photo 7")
    #expect(
      "\(error)" == """
        “album”: 1 operation failed
          [0] “photo 7”: test error first
        Repair what failed, or give a child whose failure is not to count recover(_:) or settled().
        """)
  }

  @Test("Errors of policies name the operation and what to do, and no internal type")
  func policyErrors_nameOperationAndRemedy() async throws {
    let retried = retrying(RetryPolicy(maxAttempts: 2, backoff: .noDelay)) { _ in
      failing(TestError.first, as: Int.self, named: "photo 7")
    }
    let retryError = try #require(await outcomeOfStarting(retried).error as? RetryError)
    #expect(retryError.operationName == "photo 7")
    #expect("\(retryError)".hasPrefix("“photo 7”: 2 attempts failed\n  [1]: test error first\n"))
    #expect("\(retryError)".contains("more attempts."))

    let unnamed = retrying(once) { _ in NeverFinishingOperation<Int>() }.timeout(.seconds(3), clock: clock)
    unnamed.start()
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(by: .seconds(3))
    let timeout = try #require(await settled(unnamed).error as? OperationTimeout)
    #expect(
      "\(timeout)"
        == "SimpleOperation<Int> did not end within 3.0 seconds, and was cancelled. Give it more time, or look "
        + "for what it waited for.")

    let control = succeeding(1, named: "x\ny\u{1B}[31m\u{202E}").condition(Condition("c\u{9B}") { _ in false })
    let condition = "\(try #require(await outcomeOfStarting(control).error))"
    #expect(
      condition.hasPrefix("“x y\u{FFFD}[31m\u{FFFD}” (SimpleOperation<Int>) did not run, because a condition does not"))
    #expect(condition.contains("  c\u{FFFD}: it does not hold\n") && condition.hasSuffix("when it holds."))
    for text in ["\(retryError)", "\(timeout)", condition, "\(unnamed)", "\(control)"] { expectNoInternals(text) }
  }

  @Test("A condition's error has the name of the wrapper, if the work has none")
  func conditionError_ofUnnamedWork_namesTheWrapper() async throws {
    let guarded = succeeding(1).condition(Condition("c") { _ in false })
    guarded.name = "upload"
    let error = try #require(await outcomeOfStarting(guarded).error as? ConditionError)
    #expect(error.operationDescription == "“upload” (SimpleOperation<Int>)")
  }

  @Test("The error of an exclusion circle names no internal types")
  func exclusionError_ofWrappers_tellsWhatTheyAre() async throws {
    let registry = ExclusionRegistry()
    let inner = succeeding(1).map { $0 }.exclusive("A", in: registry)
    #expect("\(inner)".hasPrefix("<SimpleOperation<Int>: "))
    let used = succeeding(1, named: "photo").map { $0 }
    used.start()
    await finished(used)
    let sequence = CompositeOperation(sequence: LinearSequence({ _ in used }))
    let error = "\(try #require(await outcomeOfStarting(sequence).error))"
    #expect(error.contains("“photo” (map) had already finished"))
    expectNoInternals(error)
  }

  // MARK: - Bounds

  private func nested(_ depth: Int) -> CompositeOperation {
    var composite = CompositeOperation(operations: [failing(TestError.first, named: "leaf")])
    for _ in 1..<depth { composite = CompositeOperation(operations: [composite]) }
    return composite
  }

  @Test(
    "The text of nested errors is bounded, and has the innermost cause",
    arguments: [100, Scale.count(100_000, least: 10_000)])
  func text_ofDeepErrors_isBounded(depth: Int) async throws {
    let error = try #require(await outcomeOfStarting(nested(depth)).error)
    let text = "\(error)"
    #expect(text.utf8.count < 20_000)
    #expect(text.contains("… \(depth - 40) levels further in: [0] “leaf”: test error first"))
    #expect(text.split(separator: "\n").allSatisfy { $0.prefix { $0 == " " }.count <= 80 })
  }

  @Test("Up to 40 levels are shown completely")
  func text_ofShallowErrors_isWhole() async throws {
    let text = "\(try #require(await outcomeOfStarting(nested(40)).error))"
    #expect(text.split(separator: "\n").count == 42)
    #expect(text.contains("\(String(repeating: " ", count: 80))[0] “leaf”: test error first"))
  }

  @Test("The text of a wide composite is bounded, and says that there is more")
  func text_ofManyErrors_isBounded() async throws {
    let wide = CompositeOperation(operations: (0..<50_000).map { _ in failing(TestError.first) })
    wide.failurePolicy = .waitForAll
    let text = "\(try #require(await outcomeOfStarting(wide).error))"
    #expect(text.hasPrefix("50000 operations failed\n  [0]: test error first\n  [1]: "))
    #expect(text.contains("\n  … and more, which is left out here\n") && text.utf8.count < 20_000)
  }

  @Test("A cause of any length is cut, and one in a retry in a composite is indented once for each")
  func text_ofLongCause_isCut() async throws {
    struct Long: LocalizedError {
      var errorDescription: String? { String(repeating: "é", count: 1_000_000) }
    }
    let composite = CompositeOperation(operations: [retrying(once) { _ in failing(Long(), as: Int.self) }])
    let text = "\(try #require(await outcomeOfStarting(composite).error))"
    #expect(text.hasPrefix("1 operation failed\n  [0]: 1 attempt failed\n    [1]: ééé"))
    #expect(text.utf8.count < 5000 && text.contains("é…\n"))
  }

  @Test("A cause of very many lines is cut, however far in it stands", arguments: [1, 39])
  func text_ofCauseOfManyLines_isCut(depth: Int) async throws {
    struct ManyLines: LocalizedError {
      var errorDescription: String? { String(repeating: "\n", count: 3_900) }
    }
    var composite = CompositeOperation(operations: [failing(ManyLines())])
    for _ in 1..<depth { composite = CompositeOperation(operations: [composite]) }
    let text = "\(try #require(await outcomeOfStarting(composite).error))"
    #expect(text.utf8.count < 17_000)
    #expect(text.contains("… and more, which is left out here\nRepair what failed"))
  }

  @Test("Names of any length are cut in the text, and whole in the error")
  func text_ofLongNames_isCut() async throws {
    let name = String(repeating: "long ", count: 200_000)
    let retried = retrying(once) { _ in failing(TestError.first, as: Int.self, named: name) }
    let unmet = succeeding(1, named: name).condition(Condition(name) { _ in false })
    let composite = CompositeOperation(operations: [retried, unmet])
    composite.failurePolicy = .waitForAll
    composite.name = name
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.operationName == name && error.failures.map(\.operationName) == [name, name])
    let text = "\(error)"
    #expect(
      text.hasPrefix("“\(name.prefix(200))…”: 2 operations failed\n  [0] “\(name.prefix(200))…”: 1 attempt failed"))
    #expect(
      text.contains("did not run, because a condition does not hold:\n    \(name.prefix(200))…: it does not hold\n"))
    #expect(
      text.hasSuffix("\nRepair what failed, or give a child whose failure is not to count recover(_:) or settled()."))
    #expect(text.utf8.count < 3_000)
    let retryError = try #require(error.failures[0].error as? RetryError)
    #expect(retryError.operationName == name && "\(retryError)".utf8.count < 1_000)
    let conditionError = try #require(error.failures[1].error as? ConditionError)
    #expect(conditionError.failures[0].conditionName == name && "\(conditionError)".utf8.count < 2_000)
    #expect(conditionError.operationDescription?.contains(name) == true)
  }

  @Test("A name that is one character of very many scalars is cut, too; one of 200 characters is not")
  func text_ofStrangeNames_isCut() async throws {
    for (name, shown) in [
      ("e" + String(repeating: "\u{301}", count: 100_000), nil), (String(repeating: "é", count: 200), "é”: 1"),
      (String(repeating: "é", count: 201), "é…”: 1"),
    ] {
      let composite = CompositeOperation(operations: [failing(TestError.first)])
      composite.name = name
      let text = "\(try #require(await outcomeOfStarting(composite).error))"
      #expect(text.utf8.count < 3_000)
      if let shown { #expect(text.contains(shown)) }
    }
  }

  // MARK: - Depth

  @Test("Retries nested deep in retries: the error is described and released on a stack of 512 KiB")
  func retryError_deep_isReleased() async {
    let depth = Scale.count(100_000, least: 10_000)
    let (text, isRetryError) = await onThread(stackSize: 512 * 1024) { [once] in
      var retried = retrying(once) { _ in failing(TestError.first, as: Int.self) }
      for _ in 1..<depth {
        let inner = retried
        retried = retrying(once) { _ in inner }
      }
      retried.start()
      retried.waitUntilFinished()
      let error = retried.outcome?.error
      retried = succeeding(1)
      return (error.map { "\($0)" } ?? "", error is RetryError)
    }
    #expect(isRetryError && text.contains("… \(depth - 40) levels further in: [1]: test error first"))
  }

  /// A user's error that holds another.
  private struct Wrapper: Error {
    let error: any Error
  }

  @Test("Errors of users that hold errors of the package, which hold those again: released on a stack of 512 KiB")
  func userErrors_deep_areReleased() async {
    let isRetryError = await onThread(stackSize: 512 * 1024) { [once] in
      var error: any Error = TestError.first
      for _ in 0..<Scale.count(50_000, least: 5_000) {
        let composite = CompositeOperation(operations: [failing(Wrapper(error: error), as: Int.self)])
        composite.start()
        composite.waitUntilFinished()
        let inner = Wrapper(error: composite.outcome?.error ?? error)
        let retried = retrying(once) { _ in failing(inner, as: Int.self) }
        retried.start()
        retried.waitUntilFinished()
        error = retried.outcome?.error ?? inner
      }
      return error is RetryError
    }
    #expect(isRetryError)
  }
}

extension BlockOperation {
  fileprivate convenience init(named name: String) {
    self.init {}
    self.name = name
  }
}
