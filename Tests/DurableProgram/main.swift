// A program with a queue, which tests run as a process of its own, and several times at once: it does what it reads line by
// line, and prints what happened. It is killed, stopped and crashed without warning.

import Foundation

// A file that may not grow is to fail like a full disk, not to end the process.
signal(SIGXFSZ, SIG_IGN)
let options = ProgramOptions(CommandLine.arguments.dropFirst())
options.dropRights()
options.setDeath()

let commands = AsyncStream<[String]> { continuation in
  Thread.detachNewThread {
    while let line = readLine() { continuation.yield(line.split(separator: " ").map(String.init)) }
    continuation.finish()
  }
}

do {
  let program = try Program(options)
  let termination = program.stopsWhenTerminated()
  say("open")
  for await command in commands { await program.perform(command) }
  termination.cancel()
} catch {
  say("error \(code(of: error)) \(error)")
  exit(1)
}
