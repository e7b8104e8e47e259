import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing

/// What a program does wrong with a terminal must not stop it.
@Suite("Terminal: edges", .hangLimit)
struct TerminalEdgeTests {
  @Test func finish_twiceAndPrintAfterwards_isHarmless() async {
    let pipe = Pipe()
    let terminal = TerminalProgress(output: pipe.fileHandleForWriting)
    let operation = HeldOperation<Int>("held")
    terminal.track(operation)
    await terminal.finish()
    await terminal.finish()
    terminal.print("after")
    let late = succeeding(1, named: "late")
    terminal.track(late)
    late.start()
    operation.start()
    operation.finish(with: 1)
    await terminal.finish()
    try? pipe.fileHandleForWriting.close()
    // It waits for all holders of the other end, and must not take a thread of the tests from them.
    let text = await onWorker { String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    #expect(text == "after\n")
  }

  @Test func output_closed_isIgnored() async throws {
    let pipe = Pipe()
    let output = pipe.fileHandleForWriting
    let terminal = TerminalProgress(output: output)
    try output.close()
    let operation = succeeding(1, named: "operation")
    terminal.track(operation)
    terminal.print("a line")
    operation.start()
    await terminal.finish()
    #expect(operation.isFinished)
  }

  @Test func children_aThousandAtOnce_endWithOneLine() async {
    let pipe = Pipe()
    // By a clock that stands still, so that there is no line of what runs, however long this takes.
    let terminal = TerminalProgress(output: pipe.fileHandleForWriting, clock: ManualClock())
    let children = (0..<1000).map { HeldOperation<Int>(String(repeating: "\($0)\u{1b}[2J", count: 1000)) }
    let composite = CompositeOperation(operations: children)
    terminal.track(composite, title: String(repeating: "x", count: 10_000))
    async let outcome = outcomeOfStarting(composite)
    for child in children { await child.started.wait() }
    for child in children { child.finish(with: 1) }
    _ = await outcome
    async let printed = onWorker { pipe.fileHandleForReading.readDataToEndOfFile() }
    await terminal.finish()
    try? pipe.fileHandleForWriting.close()
    let text = String(decoding: await printed, as: UTF8.self)
    #expect(text.split(separator: "\n").count == 1 && !text.contains("\u{1b}"))
  }
}
