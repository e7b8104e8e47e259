import ExampleSupport

/// What `--help` prints.
enum Help {
  static var text: String {
    var verbs = Table()
    for verb in Verb.allCases { verbs.add(verb.rawValue, verb.summary) }
    return """
      Outbox: sends messages from a folder to a server, each of them surely, whatever happens meanwhile.

      usage: Outbox COMMAND [arguments] [options]

      commands:
      \(verbs.text)
      `Outbox COMMAND --help` tells the arguments and options of a command.

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
      0   all was done, or the program was asked to end
      1   a message can not be sent or read, or a file or a server can not be used
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
    case "--store": "store them on a PostgreSQL server instead; a password is best kept in ~/.pgpass or $PGPASSWORD"
    case "--schema": "the schema of the tables on that server (default: \(Database.usualSchema))"
    case "--server": "where to send them"
    case "--width": "how many are sent at the same time (default: 4)"
    case "--pace": "how long each step takes at least (default: 0)"
    case "--grace": "how long messages may go on when it is asked to end (default: 5)"
    case "--stay": "wait for further messages when all are sent"
    case "--until-input-ends": "end when the standard input does, as at SIGTERM"
    case "--port": "where to listen on 127.0.0.1, 0 for any free port (default: 8025)"
    case "--log": "where what has arrived is written to (default: received.jsonl)"
    case "--fail": "what share of the requests something happens to, from 0 to 0.9 (default: 0)"
    case "--seed": "decides to which (default: 1)"
    default: "print this"
    }
  }
}
