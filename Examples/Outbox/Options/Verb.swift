import ExampleSupport

/// What the program can do: the first word of its arguments.
enum Verb: String, CaseIterable, Sendable {
  case enqueue, run, digest, status, serve

  /// What it does, in a line.
  var summary: String {
    switch self {
    case .enqueue: "stores each file of a folder as a message to be sent; one that is stored already is left out"
    case .run: "sends what is stored, and ends when that is done; kill it whenever you like, and run it again"
    case .digest: "stores a job that sends a digest of all messages, after them"
    case .status: "tells what has become of the messages"
    case .serve: "is a server that takes messages, and fails at random with --fail"
    }
  }

  /// What stands behind it.
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

  /// What else there is to know.
  var remark: String {
    switch self {
    case .enqueue:
      """
      A file can take \(Message.largestContent) bytes at most. Hidden files, folders, and what is no regular file are left
      out.
      """
    case .run:
      """
      SIGTERM and Ctrl-C end it gracefully, a second one at once. What is dead, held or cancelled is not sent; it tells how to
      have it sent.
      """
    case .digest: "A message that can not be sent does not keep the digest from being sent."
    case .status: "It lists the first \(Status.longestList) of what is not sent."
    case .serve:
      """
      It recognises what comes again by the header field Idempotency-Key, and remembers what is in its log. SIGTERM and
      Ctrl-C end it.
      """
    }
  }

  /// The options that it knows, each with an example of its value.
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
