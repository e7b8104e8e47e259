import ExampleSupport

/// The text of `--help`.
enum Help {
  static var text: String {
    var verbs = Table()
    for verb in Verb.allCases { verbs.add(verb.rawValue, verb.summary) }
    return """
      Outbox: sends the messages of a folder to a server; none is lost, whatever happens meanwhile.

      usage: Outbox COMMAND [arguments] [options]

      commands:
      \(verbs.text)
      `Outbox COMMAND --help` shows the arguments and options of a command.

      \(exitStatus)
      """
  }

  static func text(of verb: Verb) -> String {
    var options = Table()
    for (name, example) in verb.options {
      options.add(example == nil ? name : "\(name) \(placeholder(name))", meaning(name))
    }
    return """
      Outbox \(verb.rawValue): \(verb.summary)

      usage: Outbox \(verb.rawValue) \(verb.usage)

      \(verb.remark)

      options:
      \(options.text)
      for example: Outbox \(verb.example)

      \(exitStatus)
      """
  }

  private static let exitStatus = """
    exit status:
      0   success, or the program was asked to end
      1   a message cannot be sent or read, or a file or a server cannot be used
      64  the command line is wrong

    """

  private static func placeholder(_ name: String) -> String {
    switch name {
    case "--database", "--log": "FILE"
    case "--server", "--store": "URL"
    case "--schema": "NAME"
    case "--pace", "--grace": "SECONDS"
    case "--fail": "SHARE"
    default: "N"
    }
  }

  private static func meaning(_ name: String) -> String {
    switch name {
    case "--database": "where the messages are stored (default: outbox.sqlite)"
    case "--store": "store them on a PostgreSQL server instead; keep a password in ~/.pgpass or $PGPASSWORD"
    case "--schema": "the schema of the tables on that server (default: \(Database.usualSchema))"
    case "--server": "the server to send them to"
    case "--width": "how many to send at once (default: 4)"
    case "--pace": "the minimum time of each step (default: 0)"
    case "--grace": "how long running messages may go on after a request to end (default: 5)"
    case "--stay": "wait for further messages after all are sent"
    case "--until-input-ends": "end with standard input, as at SIGTERM"
    case "--port": "where to listen on 127.0.0.1, 0 for any free port (default: 8025)"
    case "--log": "the file for arrivals (default: received.jsonl)"
    case "--fail": "the share of requests with trouble, from 0 to 0.9 (default: 0)"
    case "--seed": "decides which requests have trouble (default: 1)"
    default: "print this"
    }
  }
}
