import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(30))) struct UsageTests {
  @Test(arguments: [
    ([], "No command was given. For example: durable-queue stats jobs.sqlite"),
    (["lsit", "f"], "“lsit” is not a command."),
    (["lists", "f"], "“lists” is not a command. Did you mean list?"),
    (
      ["jobs.sqlite", "list"], "“jobs.sqlite” is not a command. Write the command first: durable-queue list jobs.sqlite"
    ),
    (
      ["list"],
      "No place was given to list, and $DURABLE_QUEUE is not set. For example: durable-queue list jobs.sqlite --state dead"
    ),
    (["list", "-"], "- stands for the place in $DURABLE_QUEUE, and $DURABLE_QUEUE is not set. For example: "),
    (["list", ""], "The place that was given to list is empty."),
    (["list", "mysql://app@db/shop"], "A place cannot begin with mysql://. Give the path of a file, or the URL of a"),
    (
      ["list", "host=db dbname=shop"],
      "“host=db dbname=shop” is no file. Give a server as a URL, for example: postgresql:"
    ),
    (
      ["list", "f", "--schema", "jobs"], "--schema is for a server, and “f” is a file. Leave it out, or give a URL, for"
    ),
    (
      ["list", "postgresql://db/shop", "--schema", "a$$b"],
      "--schema cannot be “a$$b”. Give a name of 63 bytes at most"
    ),
    (
      ["list", "postgresql://db/shop", "--schema", String(repeating: "ä", count: 32)],
      "--schema cannot be “\(String(repeating: "ä", count: 32))”. Give a name of 63 bytes at most; this one has 64"
    ),
    // Bytes count: for Swift the third character is a `$` with an accent.
    (
      ["list", "postgresql://db/shop", "--schema", "a$$\u{301}b"],
      "--schema cannot be “a$$\u{301}b”. Give a name of 63"
    ),
    (
      ["list", "postgresql://db/shop", "--schema", String(repeating: "x", count: 64)],
      "--schema cannot be “xxxx"
    ),
    (["schema"], "schema prints SQL, and runs none. Say --print, for example: "),
    (
      ["schema", "--print", "postgresql://db/shop"],
      "schema takes no place, and “postgresql://db/shop” was given to it."
    ),
    (["schema", "--print", "--role", "a\nb"], "--role cannot be “a b”. Give a name of 63 bytes at most"),
    (["workers", "f", "7"], "workers takes one place, and “7” was given after it. Leave it out, or write the option"),
    (["show", "7", "x"], "“7” was taken for the place, and “x” for a job. Give the place first"),
    (
      ["list", "f", "g"],
      "list takes one place, and “g” was given after it. Leave it out, or write the option that it belongs to before it"
    ),
    (["list", "f", "dead"], "list takes one place, and “dead” was given after it. Did you mean --state dead?"),
    (
      ["stats", "f", "dead"],
      "stats takes one place, and “dead” was given after it. Leave it out, or write the option that it belongs to before it"
    ),
    (["list", "f", "--stat", "dead"], "--stat is not an option of list. Did you mean --state?"),
    (["list", "f", "--state", "deed"], "“deed” is not a state. Did you mean dead?"),
    (["list", "f", "--state", "sleepy"], "“sleepy” is not a state. The states are waiting, scheduled, "),
    (["list", "f", "--state", ","], "A state is missing in “,”, which --state was given. Give one state, or several"),
    (["list", "f", "--state", "dead,"], "A state is missing in “dead,”, which --state was given."),
    (["list", "f", "--state", " "], "A state is missing in “ ”, which --state was given."),
    (["export", "f", "--state="], "--state needs a value. For example: --state dead"),
    (["list", "f", "--kind", "a", "--kind", "b"], "--kind was given 2 times. Run it once for each kind"),
    (["list", "f", "--limit", "0"], "--limit cannot be “0”. Give a whole number from 1 to 1000000"),
    (["list", "f", "--limit"], "--limit needs a value. For example: --limit 20"),
    (["list", "f", "--after", "x"], "--after cannot be “x”. Give the number of a job"),
    (["list", "f", "--json=1"], "--json takes no value, but got “1”. Write --json alone."),
    (["show", "f"], "No number of a job was given. Give one or more"),
    (["show", "f", "x7"], "“x7” is no number of a job. Give a whole number from 1 on"),
    (["show", "f", "-7"], "“-7” is no number of a job."),
    (["stats", "f", "--kind", "k"], "--kind is not an option of stats."),
    (
      ["retry", "f"], "No number of a job was given. Give one or more, for example: durable-queue retry jobs.sqlite 7\n"
    ),
    (["retry", "f", "--all-dead", "7"], "Both --all-dead and numbers of jobs were given."),
    (["retry", "f", "--all-dead", "--all-held"], "Both --all-dead and --all-held were given."),
    (
      ["retry", "f", "7", "--kind", "k"],
      "--kind was given without --all-dead or --all-held, and chooses among those. Add one of the two, or leave"
    ),
    (["delete", "f"], "No number of a job was given. Give one or more"),
    (["delete", "f", "7", "--state", "done"], "Both --state and numbers of jobs were given. Give one of the two"),
    (["delete", "f", "--kind", "k"], "--kind was given without --state, and chooses among the jobs in a state."),
    (["priority", "f", "7"], "A number of a job and a priority are needed."),
    (["priority", "f", "7", "high"], "“high” is no priority. Give a whole number, or two with a comma"),
    (["priority", "f", "7", "1,2,3"], "“1,2,3” is no priority."),
    (["priority", "f", "--kind", "k"], "No priority was given. Give one, for example: durable-queue priority"),
    (["priority", "f", "--kind", "k", "7", "20"], "Both --kind and numbers of jobs were given. Give one of the two"),
    (["priority", "f", "--kind", "k", "high"], "“high” is no priority."),
    (["limit", "f", "mail"], "limit was not told how many. Give --to N, or --none"),
    (["limit", "f", "mail", "--to", "2", "--none"], "Both --to and --none were given. Give one of the two"),
    (["limit", "f", "mail", "--to", "0"], "--to"),
    (["limit", "f", "--to", "2"], "No kind was given. Name one or more"),
    (["pause", "f"], "No kind was given. Name one or more"),
    (["pause", "f", ""], "The name of a kind is empty. Name one or more"),
    (["unschedule", "f"], "No periodic job was given. Name one or more"),
    (["periodic", "f", "nightly"], "periodic takes one place, and “nightly” was given after it."),
    (["delete-unstarted", "f", "mail"], "delete-unstarted takes one place, and “mail” was given after it."),
    (
      ["delete-unstarted", "f"],
      "delete-unstarted deletes jobs for good, and was not told which. Give --kind KIND for those of one kind, or --all for those of"
    ),
    (["delete-unstarted", "f", "--kind", "k", "--all"], "Both --kind and --all were given. Give one of the two"),
    (["delete-unstarted", "f", "--al"], "--al is not an option of delete-unstarted. Did you mean --all?"),
    (["help", "everything"], "“everything” is not a command."),
    (["drain", "f", "--all"], "“drain” is not a command. Did you mean delete-unstarted?\n"),
    (["help", "drain"], "“drain” is not a command. Did you mean delete-unstarted?\n"),
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

  /// TOOL-6
  @Test func version_isThatOfTheNewestRelease() throws {
    let ran = tool("--version")
    #expect(ran.status == 0)
    let changes = URL(fileURLWithPath: #filePath).appending(path: "../../../../CHANGELOG.md").standardized
    let heading = try #require(
      try String(contentsOf: changes, encoding: .utf8).split(separator: "\n").first {
        $0.hasPrefix("## [") && $0.contains("] - ")
      })
    let version = try #require(heading.split(separator: "[").last?.split(separator: "]").first)
    #expect(ran.output == "durable-queue \(version)\n")
  }

  @Test(arguments: Verb.allCases) func helpOfACommand_tellsItsOptions(_ verb: Verb) {
    let ran = tool(verb.rawValue, "--help")
    #expect(ran.status == 0)
    for (option, _) in verb.options { #expect(ran.output.contains(option)) }
    #expect(ran.output.contains("usage: durable-queue \(verb.rawValue) \(verb.takesPlace ? "PLACE" : "--print")"))
    #expect(ran.output.contains("JSON: ") == verb.options.contains { $0.key == "--json" })
    #expect(ran.lines.allSatisfy { $0.count <= 120 })
    #expect(ran.lines.filter { $0.hasPrefix("  --") }.allSatisfy { $0.count <= 100 }, "\(ran.output)")
    #expect(!ran.output.contains("\n\n\n"), "\(ran.output)")
    #expect(tool("help", verb.rawValue).output == ran.output)
  }

  @Test(arguments: [Verb.deleteUnstarted, .delete]) func helpOfWhatDeletes_saysThatItIsLost(_ verb: Verb) {
    #expect(tool(verb.rawValue, "--help").output.contains("lost"))
    #expect(tool(verb.rawValue, "--help").output.contains("cannot be brought back"))
  }

  @Test func examplesOfTheHelp_areRight() throws {
    for verb in Verb.allCases {
      let words = verb.exampleWords
      #expect(throws: Never.self) { try OptionParser.parse([verb.rawValue] + words) }
    }
  }
}
