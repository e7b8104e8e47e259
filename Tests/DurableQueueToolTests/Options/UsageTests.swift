import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(10))) struct UsageTests {
  @Test(arguments: [
    ([], "No command was given. For example: durable-queue stats jobs.sqlite"),
    (["lsit", "f"], "“lsit” is not a command."),
    (["lists", "f"], "“lists” is not a command. Did you mean list?"),
    (
      ["jobs.sqlite", "list"], "“jobs.sqlite” is not a command. Write the command first: durable-queue list jobs.sqlite"
    ),
    (["list"], "No file was given to list. For example: durable-queue list jobs.sqlite --state dead"),
    (["list", ""], "No file was given to list."),
    (["list", "f", "g"], "list takes no “g”. Give one file, and options"),
    (["list", "f", "--stat", "dead"], "--stat is not an option of durable-queue list. Did you mean --state?"),
    (["list", "f", "--state", "deed"], "“deed” is not a state. Did you mean dead?"),
    (["list", "f", "--state", "sleepy"], "“sleepy” is not a state. The states are waiting, scheduled, "),
    (["list", "f", "--limit", "0"], "--limit can not be “0”. Give a whole number from 1 to 1000000"),
    (["list", "f", "--limit"], "--limit needs a value. For example: --limit 20"),
    (["list", "f", "--after", "x"], "--after can not be “x”. Give the number of a job"),
    (["list", "f", "--json=1"], "--json takes no value, but got “1”. Write --json alone."),
    (["show", "f"], "No number of a job was given. Give one or more"),
    (["show", "f", "x7"], "“x7” is no number of a job. Give a whole number from 1 on"),
    (["show", "f", "-7"], "“-7” is no number of a job."),
    (["stats", "f", "--kind", "k"], "--kind is not an option of durable-queue stats."),
    (["retry", "f"], "No number of a job was given."),
    (["retry", "f", "--all-dead", "7"], "Both --all-dead and numbers of jobs were given."),
    (["retry", "f", "--all-dead", "--all-held"], "Both --all-dead and --all-held were given."),
    (["retry", "f", "7", "--kind", "k"], "--kind stands alone. It goes with --all-dead or --all-held"),
    (["priority", "f", "7"], "A number of a job and a priority are needed."),
    (["priority", "f", "7", "high"], "“high” is no priority. Give a whole number, or two with a comma"),
    (["priority", "f", "7", "1,2,3"], "“1,2,3” is no priority."),
    (["pause", "f"], "No kind was given. Name one"),
    (["drain", "f", "mail"], "drain takes no “mail”."),
    (["help", "everything"], "“everything” is not a command."),
  ])
  func wrongArguments_areToldInASentence(_ arguments: [String], _ problem: String) throws {
    let errors = Locked("")
    let command = DurableQueueCommand { _ in
      Issue.record("nothing is to be printed")
    } errors: { text in
      errors.withLock { $0 += text }
    }
    #expect(command.run(arguments) == 64)
    #expect(errors.current.hasPrefix("durable-queue: " + problem), "\(errors.current)")
    #expect(errors.current.hasSuffix("\n"))
    #expect(errors.current.count { $0 == "\n" } == 1)
  }

  @Test func help_tellsAllCommands() {
    for arguments in [["--help"], ["-h"], ["help"]] {
      let output = Locked("")
      let command = DurableQueueCommand { text in
        output.withLock { $0 += text }
      } errors: { _ in
      }
      #expect(command.run(arguments) == 0)
      for verb in Verb.allCases { #expect(output.current.contains("  \(verb.rawValue) ")) }
      #expect(output.current.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }
  }

  @Test(arguments: Verb.allCases) func helpOfACommand_tellsItsOptions(_ verb: Verb) {
    let ran = tool(verb.rawValue, "--help")
    #expect(ran.status == 0)
    for (option, _) in verb.options { #expect(ran.output.contains(option)) }
    #expect(ran.output.contains("usage: durable-queue \(verb.rawValue) FILE"))
    #expect(ran.output.contains("JSON: "))
    #expect(ran.lines.allSatisfy { $0.count <= 120 })
    #expect(tool("help", verb.rawValue).output == ran.output)
  }

  @Test func examplesOfTheHelp_areRight() throws {
    for verb in Verb.allCases {
      let words = verb.example.split(separator: " ").prefix { $0 != ">" }.map(String.init)
      #expect(throws: Never.self) { try OptionParser.parse([verb.rawValue] + words) }
    }
  }
}
