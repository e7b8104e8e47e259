#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct UsageTests {
  @Test(arguments: [
    ([], "No command was given. For example: Outbox enqueue letters"),
    (["sned"], "“sned” is not a command."),
    (["runs"], "“runs” is not a command. Did you mean run?"),
    (["enqueue"], "No folder with messages was given. For example: Outbox enqueue letters"),
    (["enqueue", "a", "b"], "enqueue takes no “b”. Outbox enqueue --help lists what it takes."),
    (["status", "a"], "status takes no “a”."),
    (["run"], "No server was given. Start one with `Outbox serve`, and name it, for example: --server http://"),
    (["run", "--server", "nowhere"], "--server cannot be “nowhere”. Give an http or https address"),
    (["run", "--server", "http://h", "--width", "0"], "--width cannot be “0”. Give a whole number from 1 to 1000"),
    (["run", "--server", "http://h", "--pace", "x"], "--pace cannot be “x”. Give a number from 0 to 3600"),
    (
      ["status", "--store", "shop"], "--store cannot be “shop”. Give the URL of a PostgreSQL server, or a file with --"
    ),
    (["status", "--store", "mysql://app:se@cret@db"], "--store cannot be “mysql://app:********@db”. Give the URL"),
    (["digest", "--store", "host=db password=x"], "--store cannot be “host=db password=********”. Give the URL"),
    (["status", "--store", "postgresql://db", "--database", "x"], "Both --database and --store were given."),
    (["status", "--schema", "x"], "--schema is for a server, and the messages are in a file. Leave it out, or name"),
    (["status", "--store", "postgresql://db", "--schema", "a$$b"], "--schema cannot be “a$$b”. Give a name of 63"),
    (["serve", "--store", "postgresql://app:x@db"], "--store is not an option of serve."),
    (["status", "postgresql://app:x@db/shop"], "status takes no “postgresql://app:********@db/shop”."),
    (["postgresql://app:x@db/shop"], "“postgresql://app:********@db/shop” is not a command."),
    (["run", "--server", "postgresql://app:x@db"], "--server cannot be “postgresql://app:********@db”."),
    (["serve", "--port", "70000"], "--port cannot be “70000”. Give a whole number from 0 to 65535"),
    (["serve", "--fail", "1"], "--fail cannot be “1”. Give a number from 0 to 0.9"),
    (["serve", "--seed", "-1"], "--seed cannot be “-1”. Give a whole number from 0 on"),
    (["serve", "--sed", "1"], "--sed is not an option of serve. Did you mean --seed?"),
  ])
  func wrongArguments_areToldInASentence(_ arguments: [String], _ problem: String) async throws {
    let folder = try TemporaryFolder()
    let result = try await Program(arguments, in: folder).result()
    #expect(result.status == 64)
    #expect(result.lines.isEmpty)
    #expect(result.errors.hasPrefix("Outbox: " + problem), "\(result.errors)")
    #expect(result.errors.count { $0 == "\n" } == 1)
  }

  @Test(arguments: [
    (["enqueue", "nowhere"], "There is no folder nowhere. Check the spelling."),
    (["enqueue", "a.txt"], "a.txt is a file. Name the folder that it is in."),
    (["status"], "There is no database outbox.sqlite. Store messages first: Outbox enqueue FOLDER"),
    (["digest"], "There is no database outbox.sqlite."),
    (["run", "--server", "http://127.0.0.1:9", "--database", "x"], "There is no database x."),
    (["status", "--database", "a.txt"], "a.txt is not a database"),
    (["status", "--database", "empty"], "empty is no database of messages. If it should be one, `enqueue` was killed"),
    (["serve", "--log", "nowhere/log"], "The log nowhere/log cannot be made."),
  ])
  func whatCanNotBeUsed_isTold(_ arguments: [String], _ problem: String) async throws {
    let folder = try TemporaryFolder(["a.txt": "This is no database, but a text.", "empty": ""])
    let result = try await Program(arguments, in: folder).result()
    #expect(result.status == 1)
    #expect(result.errors.contains(problem), "\(result.errors)")
    #expect(try folder.list().filter { !$0.contains("pipe-") } == ["a.txt", "empty"])
  }

  @Test(arguments: ["--help", "-h", "help"]) func help_tellsTheCommands(_ option: String) async throws {
    let result = try await Program.run(option, in: TemporaryFolder())
    #expect(result.status == 0)
    for word in ["enqueue", "run", "digest", "status", "serve", "COMMAND --help", "64"] {
      #expect(result.lines.contains { $0.contains(word) }, "\(word) is missing")
    }
    #expect(!result.lines.contains { $0.contains("--grace") })
    #expect(result.lines.allSatisfy { $0.count <= 120 })
  }

  @Test(arguments: [
    ("enqueue", ["FOLDER", "--database", "--store URL", "1000000 bytes"]),
    ("run", ["--server URL", "--grace", "SIGTERM"]),
    ("digest", ["--database", "--schema NAME"]), ("status", ["--database", "100"]),
    ("serve", ["--seed N", "--fail", "Idempotency-Key"]),
  ])
  func helpOfACommand_tellsItsOptions(_ command: String, _ words: [String]) async throws {
    let result = try await Program.run(command, "--help", in: TemporaryFolder())
    #expect(result.status == 0)
    for word in words { #expect(result.lines.contains { $0.contains(word) }, "\(word) is missing") }
    #expect(!result.lines.contains { $0.contains(command == "serve" ? "--grace" : "--seed") })
    #expect(result.lines.allSatisfy { $0.count <= 120 })
    #expect(try await Program.run("help", command, in: TemporaryFolder()).lines == result.lines)
  }
}
#endif
