import ExampleSupport

/// A command of the program: the first word of its arguments.
enum Verb: String, CaseIterable, Sendable {
  case enqueue, run, digest, status, serve

  /// What it does, on one line.
  var summary: String {
    switch self {
    case .enqueue: "stores each file of a folder as a message to send; skips those that are stored already"
    case .run: "sends the stored messages, and ends when all are sent; kill it at any time, and run it again"
    case .digest: "stores a job that sends a digest of all messages, after them"
    case .status: "shows the state of the messages"
    case .serve: "runs a server that accepts messages, and fails at random with --fail"
    }
  }

  /// What follows the command.
  var usage: String {
    switch self {
    case .enqueue: "FOLDER [options]"
    case .run: "--server URL [options]"
    case .digest, .status, .serve: "[options]"
    }
  }

  var example: String {
    switch self {
    case .enqueue: "enqueue letters"
    case .run: "run --server http://127.0.0.1:8025 --pace 0.5"
    case .digest, .status: rawValue
    case .serve: "serve --fail 0.3 --seed 7"
    }
  }

  /// What else a user should know.
  var remark: String {
    switch self {
    case .enqueue:
      """
      A file may have \(Message.largestContent) bytes at most. Hidden files, folders and special files are skipped.
      """
    case .run:
      """
      SIGTERM and Ctrl-C end it gracefully, a second one at once. Dead, held and cancelled messages are not sent; it says how
      to send them.
      """
    case .digest: "A message that cannot be sent does not stop the digest."
    case .status: "It lists the first \(Status.longestList) messages that are not sent."
    case .serve:
      """
      It recognizes repeated messages by the header field Idempotency-Key, and remembers those in its log. SIGTERM and Ctrl-C
      end it.
      """
    }
  }

  /// Its options, each with an example of its value.
  var options: Arguments.Options {
    switch self {
    case .enqueue, .digest, .status:
      [
        "--database": "outbox.sqlite", "--store": "postgresql://app@db.example.org/shop", "--schema": "outbox",
        "--help": nil,
      ]
    case .run:
      [
        "--server": "http://127.0.0.1:8025", "--database": "outbox.sqlite",
        "--store": "postgresql://app@db.example.org/shop", "--schema": "outbox", "--width": "4", "--pace": "0.5",
        "--grace": "5", "--stay": nil, "--until-input-ends": nil, "--help": nil,
      ]
    case .serve:
      [
        "--port": "8025", "--log": "received.jsonl", "--fail": "0.3", "--seed": "7", "--until-input-ends": nil,
        "--help": nil,
      ]
    }
  }
}
