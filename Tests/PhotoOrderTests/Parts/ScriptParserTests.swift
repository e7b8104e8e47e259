import ExampleSupport
import Testing

@testable import PhotoOrder

@Suite struct ScriptParserTests {
  private func parse(_ text: String) throws -> [ScriptLine] {
    try ScriptParser(name: "my.script", tasks: TaskName.all(photoCount: 2)).parse(text)
  }

  @Test(arguments: [
    ("start all", Command.act(.start, .all)),
    ("START Create Project", .act(.start, .task(0))),
    ("start 1", .act(.start, .task(0))),
    ("  cancel\tupload   photo 1  # now", .act(.cancel, .task(2))),
    ("retry \"Submit Order\"", .act(.retry, .task(6))),
    ("reset 'Upload Photo 2'", .act(.reset, .task(4))),
    ("fulfill Photo 2 Available", .act(.fulfill, .task(3))),
    ("fulfil 6", .act(.fulfill, .task(5))),
    ("reject all", .act(.reject, .all)),
    ("hold Upload Photo 1 50%", .act(.hold(0.5), .task(2))),
    ("hold 3 12.5", .act(.hold(0.125), .task(2))),
    ("release Upload Photo 1", .act(.release, .task(2))),
    ("wait", .waitForEnd),
    ("wait Upload Photo 1 held", .wait(2, .held)),
    ("wait 2 waiting", .wait(1, .waiting)),
    ("wait Photo 1 Available Finished", .wait(1, .finished)),
    ("show", .show),
    ("quit", .quit),
  ])
  func line_isACommand(_ text: String, _ command: Command) throws {
    #expect(try parse(text).map(\.command) == [command])
  }

  @Test func emptyLinesAndComments_areSkipped_butCounted() throws {
    let lines = try parse("# an order\r\n\r\nstart all # go\n\n  \nwait")
    #expect(lines.map(\.number) == [3, 6])
    #expect(lines.map(\.text) == ["start all", "wait"])
    #expect(try parse("").isEmpty)
  }

  @Test(arguments: [
    ("strt all", "strt is no command", "Did you mean start?"),
    ("jump", "jump is no command", "The commands are start, fulfill,"),
    ("start", "the task is missing", "Name one, such as Upload Photo 1, or write all."),
    ("fulfill", "the task is missing", "Name one, such as Photo 1 Available"),
    ("cancel 8", "there is no task 8", "The tasks are 1 Create Project, 2 Photo 1 Available,"),
    ("cancel 0", "there is no task 0", "The tasks are"),
    ("cancel Uplod Photo 2", "there is no task Uplod Photo 2", "Did you mean Upload Photo 2?"),
    ("cancel everything", "there is no task everything", "The tasks are"),
    ("fulfill 1", "Create Project is no condition", "The conditions are 2 Photo 1 Available, 4"),
    ("hold 2 10", "Photo 1 Available is a condition, which does no work", "Tasks that work are 1 Create Project, 3"),
    ("hold 3", "hold needs a task and a percentage", "hold Upload Photo 1 50%"),
    ("hold 3 101", "hold needs a task and a percentage", "hold Upload Photo 1 50%"),
    ("hold 3 half", "hold needs a task and a percentage", "hold Upload Photo 1 50%"),
    ("wait 3", "3 is no state of a task", "Write one of pending, ready,"),
    ("wait 3 finishd", "finishd is no state of a task", "Did you mean finished?"),
    ("wait finished", "wait has a state, but no task", "wait Create Project finished"),
    ("wait 2 held", "Photo 1 Available is a condition", "Tasks that work are"),
    ("wait 3 waiting", "Upload Photo 1 is no condition", "The conditions are"),
    ("show all", "nothing can follow show", "Write show alone"),
    ("quit now", "nothing can follow quit", "Write quit alone"),
  ])
  func whatIsWrong_isToldWithItsLineAndRemedy(_ line: String, _ problem: String, _ remedy: String) {
    let error = #expect(throws: UsageError.self) { try parse("start all\n\n\(line)\nwait") }
    #expect(error?.problem.hasPrefix("my.script, line 3, \"\(line)\": \(problem)") == true, "\(error?.problem ?? "")")
    #expect(error?.remedy.contains(remedy) == true, "\(error?.remedy ?? "")")
  }
}
