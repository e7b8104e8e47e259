// A program with a queue, which tests run as a separate process, and several times at once: it
// executes the lines that it reads, and prints what happened. Tests kill, stop and crash it without
// warning.

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
  let termination = await program.stopsWhenTerminated()
  say("open")
  for await command in commands { await program.perform(command) }
  termination.cancel()
} catch {
  say("error \(code(of: error)) \(error)")
  exit(1)
}
