/// What `--help` prints.
enum Help {
  static let text = """
    Outbox: sends messages from a folder to a server, each of them surely, whatever happens meanwhile.

    usage: Outbox enqueue FOLDER [--database FILE]
           Outbox run --server URL [--database FILE] [--width N] [--pace SECONDS] [--grace SECONDS] [--stay]
           Outbox digest [--database FILE]
           Outbox status [--database FILE]
           Outbox serve [--port N] [--log FILE] [--fail SHARE] [--seed N]

    enqueue  stores each file of a folder as a message to be sent; one that is stored already is left out
    run      sends what is stored, and ends when that is done; kill it whenever you like, and run it again
    digest   stores a job that sends a digest of all messages, after them
    status   tells what has become of the messages
    serve    is a server that takes messages, and fails at random

    options:
      --database FILE   where the messages are stored (default: outbox.sqlite)
      --server URL      where to send them
      --width N         how many are sent at the same time (default: 4)
      --pace SECONDS    how long each step takes at least (default: 0)
      --grace SECONDS   how long messages may go on at SIGTERM or Ctrl-C (default: 5)
      --stay            wait for further messages when all are sent
      --port N          where to listen on 127.0.0.1, 0 for any free port (default: 8025)
      --log FILE        where what has arrived is written to (default: received.jsonl)
      --fail SHARE      what share of the requests something happens to, from 0 to 0.9 (default: 0)
      --seed N          decides to which (default: 1)
      --help, -h        print this

    exit status:
      0   all was done, or the program was asked to end
      1   a message can not be sent or read, or a file can not be used
      64  the command line is wrong

    """
}
