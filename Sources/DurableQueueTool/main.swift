import CompositeOperationsCommandLine
import Foundation

StandardStream.ignoreBrokenPipes()
let command = DurableQueueCommand(width: StandardStream.output.terminalWidth, output: StandardStream.output.write) {
  // Nothing can be told to somebody who does not listen, so that it fails does not matter.
  try? StandardStream.error.write($0)
}
exit(command.run(Array(CommandLine.arguments.dropFirst())))
