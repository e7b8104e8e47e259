#if os(macOS) || os(Linux)
import TestSupport
import Testing

/// The same library in a program without async code, whose main thread is blocked or handed to a
/// run loop.
@Suite("6 Foundation: from a plain program", .hangLimit)
struct PlainProgramTests {
  @Test(
    "3.1.2 A program that waits and exits loses nothing: completion has run and printed",
    arguments: ["wait-for-queue", "wait-for-operation"])
  func program_waitingOnItsMainThread_losesNothing(way: String) async throws {
    let expected = way == "wait-for-queue" ? "[1, 2, 3]" : "[1, 2]"
    for _ in 0..<10 {
      let result = try await PlainProcess.run("PlainProgram", way)
      #expect(result.status == 0)
      #expect(result.lines == ["completion: \(expected)", "end"])
    }
  }

  @Test(
    "3.4 On OperationQueue.main children run on the main thread, in order",
    arguments: ["main-queue-with-run-loop", "in-main-queue"])
  func program_withRunLoop_runsChildrenOnTheMainThread(way: String) async throws {
    let result = try await PlainProcess.run("PlainProgram", way)
    #expect(result.status == 0)
    #expect(result.lines == (1...3).map { "leaf \($0): main queue, main thread" } + ["completion: [1, 2, 3]"])
  }

  @Test("3.4 In a queue of one slot that targets the main queue a composite uses its own slot")
  func program_withQueueThatTargetsMain_usesTheSlotOfTheComposite() async throws {
    let result = try await PlainProcess.run("PlainProgram", "in-queue-that-targets-main")
    #expect(result.status == 0)
    #expect(result.lines == ["completion: [1, 2]"])
  }

  @Test("3.4 On OperationQueue.main children run on the main queue, also where dispatchMain() serves it")
  func program_withDispatchMain_runsChildrenOnTheMainQueue() async throws {
    let result = try await PlainProcess.run("PlainProgram", "main-queue-with-dispatch-main")
    #expect(result.status == 0)
    let places = result.lines.dropLast().map { $0.prefix { $0 != "," } }
    #expect(places == ["leaf 1: main queue", "leaf 2: main queue", "leaf 3: main queue"])
    #expect(result.lines.last == "completion: [1, 2, 3]")
  }

  @Test(
    "3.1.9 Observers and completions on the main actor are called by a run loop, and where dispatchMain() serves it",
    arguments: ["main-actor-with-run-loop", "main-actor-with-dispatch-main"])
  func program_withMainActorCompletion_isCalled(way: String) async throws {
    let result = try await PlainProcess.run("PlainProgram", way)
    #expect(result.status == 0)
    #expect(result.lines == ["main actor: success(1), after started"])
  }
}
#endif
