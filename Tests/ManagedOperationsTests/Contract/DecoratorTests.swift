import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Each interceptor and reactor of the library leaves the same trace by itself and inside a
/// decorator: the manager knows nothing of it but the requirements of the public protocols.
@Suite("6 Interceptors and reactors inside others", .timeLimit(.minutes(30))) struct DecoratorTests {
  /// A manager with its clock, and what happens to its tasks.
  private struct Stage {
    let clock = ManualClock()
    let order = EventRecorder<Int>()
    let isWrapped: Bool

    func wrap(_ interceptor: some Interceptor) -> any Interceptor {
      isWrapped ? Forwarding(base: interceptor) : interceptor
    }

    func wrap(_ reactor: some Reactor) -> any Reactor {
      isWrapped ? ForwardingReactor(base: reactor) : reactor
    }

    /// Runs a scenario, and returns what happened to each task, in the order in which they were
    /// added, then the numbers in the order in which they ran.
    func trace(
      _ interceptors: [any Interceptor], _ reactors: [any Reactor] = [], _ scenario: (OperationManager) async -> Void
    ) async -> [String] {
      let events: AsyncStream<ManagedEvent>
      do {
        let manager = OperationManager(interceptors: interceptors, reactors: reactors, clock: clock)
        manager.maxConcurrentOperationCount = 1
        events = manager.events()
        await scenario(manager)
        await manager.waitUntilIdle()
      }
      var byTask: [Int: [String]] = [:]
      for await event in events { byTask[event.taskID, default: []].append("\(event.kind) \(event.attempt)") }
      return byTask.sorted { $0.key < $1.key }.map { $0.value.joined(separator: ", ") } + ["\(order.events)"]
    }

    func number(_ number: Int) -> Number { Number(number, recorder: order) }

    func advance(by duration: Duration) async {
      await clock.waitForSleeper(dueIn: duration)
      clock.advance(by: duration)
    }
  }

  /// What both forms leave. The plain one is not empty.
  private func expectSameTrace(_ scenario: (Stage) async -> [String]) async {
    let plain = await scenario(Stage(isWrapped: false))
    let wrapped = await scenario(Stage(isWrapped: true))
    #expect(plain == wrapped)
    #expect(plain.count > 1)
  }

  /// A task of another type than `Number`.
  private let other = AnyManagedTask {}

  // MARK: - Interceptors

  @Test func rateLimit_wrapped_leavesTheSameTrace() async {
    await expectSameTrace { stage in
      let limit = AnyInterceptor.rateLimit(tokens: 1, per: .seconds(4), clock: stage.clock) { $0 is Number ? "" : nil }
      return await stage.trace([stage.wrap(limit)]) { manager in
        let handles = (1...3).map { manager.add(stage.number($0)) }
        _ = await settled(manager.add(other))
        // One of those that wait is cancelled, which costs no token.
        #expect(manager.heldTaskCount == 2)
        handles[1].cancel()
        await stage.advance(by: .seconds(4))
        #expect(await settled(handles[2]).value == 3)
      }
    }
  }

  @Test func batch_wrapped_leavesTheSameTrace() async {
    await expectSameTrace { stage in
      let batch = BatchInterceptor.batch(maxCount: 3, maxAge: .seconds(5), clock: stage.clock) { $0 is Number }
      return await stage.trace([stage.wrap(batch)]) { manager in
        let aged = (1...2).map { manager.add(stage.number($0)) }
        // One of another type releases nothing.
        _ = await settled(manager.add(other))
        #expect(manager.heldTaskCount == 2 && batch.count == 2)
        await stage.advance(by: .seconds(5))
        for handle in aged { _ = await settled(handle) }
        let full = (3...5).map { manager.add(stage.number($0)) }
        for handle in full { _ = await settled(handle) }
        let flushed = manager.add(stage.number(6))
        await until(flushed.state == .held)
        #expect(batch.flush() == 1)
        _ = await settled(flushed)
      }
    }
  }

  @Test func typed_wrapped_leavesTheSameTrace() async {
    await expectSameTrace { stage in
      let asked = Gate()
      let typed = AnyInterceptor.intercepting(Number.self, timeout: .seconds(9)) { task, count in
        task.number += 10
        if task.number == 19 {
          asked.open()
          try await Gate().waitUnlessCancelled()
        }
        return count < 2 ? .hold : .execute
      }
      return await stage.trace([stage.wrap(typed)]) { manager in
        let held = (1...2).map { manager.add(stage.number($0)) }
        _ = await settled(manager.add(other))
        #expect(manager.heldTaskCount == 2)
        #expect(await settled(manager.add(stage.number(3))).value == 13)
        for handle in held { _ = await settled(handle) }
        let late = manager.add(stage.number(9))
        await asked.wait()
        await stage.advance(by: .seconds(9))
        #expect(managedError(await settled(late))?.code == .interceptionTimedOut)
      }
    }
  }

  @Test func closure_wrapped_leavesTheSameTrace() async {
    await expectSameTrace { stage in
      let commands: [InterceptCommand] = [.hold, .discard, .forceExecute]
      let closure = AnyInterceptor.intercepting { task, _ in
        (task as? Number).map { commands[$0.number] } ?? .execute
      }
      return await stage.trace([stage.wrap(closure)]) { manager in
        let handles = (0...2).map { manager.add(stage.number($0)) }
        _ = await settled(manager.add(other))
        for handle in handles { _ = await settled(handle) }
      }
    }
  }

  @Test func headers_wrapped_leaveTheSameTrace() async {
    await expectSameTrace { stage in
      let headers = AnyInterceptor.headers { _ in ["X-Number": "7"] }
      let seen = EventRecorder<String>()
      let trace = await stage.trace([
        stage.wrap(headers),
        .intercepting(HTTPTask.self) { task, _ in
          seen.record(task.request.value(forHTTPHeaderField: "X-Number") ?? "none")
          return .discard
        },
      ]) { manager in
        _ = await settled(manager.add(HTTPTask(URLRequest(url: URL(string: "http://localhost/")!))))
        _ = await settled(manager.add(stage.number(1)))
      }
      return trace + seen.events
    }
  }

  @Test("A task that waits, and is asked about again after a reaction, takes no second token, nor is it held again")
  func rateLimit_wrapped_isNotAskedAgain() async {
    await expectSameTrace { stage in
      let limit = AnyInterceptor.rateLimit(tokens: 4, per: .seconds(40), clock: stage.clock)
      let asked = EventRecorder<Int>()
      let watch = AnyInterceptor.intercepting(Number.self) { task, _ in
        asked.record(task.number)
        return .execute
      }
      let (started, goOn) = (Gate(), Gate())
      // It suspends the queue, so that the second still waits when it is done.
      let reactor = AnyReactor.reacting(
        configuration: ReactorConfiguration(suspendsQueue: true, reinterceptsOnRequeue: true),
        when: { outcome, _ in outcome.error != nil }
      ) { _ in .requeue() }
      let trace = await stage.trace([stage.wrap(limit), watch], [stage.wrap(reactor)]) { manager in
        let first = manager.add(
          Scripted<Int> { attempt in
            AsyncOperation {
              started.open()
              await goOn.wait()
              if attempt == 1 { throw TestError.first }
              return attempt
            }
          })
        await started.wait()
        let second = manager.add(stage.number(2))
        await until(second.state == .queued)
        goOn.open()
        _ = await settled(first)
        _ = await settled(second)
        // The last token is left.
        _ = await settled(manager.add(stage.number(3)))
        let last = manager.add(stage.number(4))
        await stage.advance(by: .seconds(10))
        _ = await settled(last)
      }
      return trace + asked.events.map { "asked about \($0)" }
    }
  }

  // MARK: - Reactors

  @Test func reactors_wrapped_leaveTheSameTrace() async {
    func failingTwice() -> Scripted<Int> {
      Scripted<Int> { attempt in attempt < 3 ? failing(TestError.first) : succeeding(attempt) }
    }
    let policy = RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(2)), jitter: .none)
    await expectSameTrace { stage in
      await stage.trace([], [stage.wrap(.retrying(policy))]) { manager in
        let handle = manager.add(failingTwice())
        await stage.advance(by: .seconds(2))
        await stage.advance(by: .seconds(2))
        #expect(await settled(handle).value == 3)
      }
    }
    await expectSameTrace { stage in
      let reactor = AnyReactor.reacting(to: Scripted<Int>.self, when: { outcome, _ in outcome.error != nil }) { _ in
        .requeue()
      }
      return await stage.trace([], [stage.wrap(reactor)]) { manager in
        #expect(await settled(manager.add(failingTwice())).value == 3)
        _ = await settled(manager.add(other))
      }
    }
    await expectSameTrace { stage in
      let reactor = AnyReactor.reacting(
        configuration: ReactorConfiguration(maxRequeues: 1), when: { outcome, _ in outcome.error != nil }
      ) { _ in .requeue() }
      return await stage.trace([], [stage.wrap(reactor)]) { manager in
        #expect(await settled(manager.add(failingTwice())).error as? TestError == .first)
      }
    }
  }

  @Test func tokenRefresh_wrapped_leavesTheSameTrace() async throws {
    for isWrapped in [false, true] {
      try await withServer { server in
        let tokens = HTTPTokens()
        server.route("/token", .refreshing(tokens))
        server.route("/secret", .protected(by: tokens, then: .ok("secret")))
        let stage = Stage(isWrapped: isWrapped)
        let token = Locked("none")
        let reactor = AnyReactor.refreshingToken { _ in
          let answer = try await HTTPOperation(request(server.url("/token"), "POST")).run()
          token.withLock { $0 = String(decoding: answer.body, as: UTF8.self) }
        }
        let headers = AnyInterceptor.headers { _ in ["Authorization": "Bearer \(token.current)"] }
        let trace = await stage.trace([stage.wrap(headers)], [stage.wrap(reactor)]) { manager in
          let answer = await settled(manager.add(HTTPTask(request(server.url("/secret")))))
          #expect(answer.value.map { String(decoding: $0.body, as: UTF8.self) } == "secret")
        }
        #expect(
          trace.first == """
            added 0, started 0, queued 0, attemptStarted 1, attemptEnded 1, reacting 1, requeued 1, queued 1, \
            attemptStarted 2, attemptEnded 2, finished 2
            """)
      }
    }
  }
}
