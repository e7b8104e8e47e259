import CompositeOperationsCommandLine
import Foundation

StandardStream.ignoreBrokenPipes()
var command = DurableQueueCommand(width: StandardStream.output.terminalWidth, output: StandardStream.output.write) {
  // Nothing can be told to somebody who does not listen, so that it fails does not matter.
  try? StandardStream.error.write($0)
}
command.environment = ProcessInfo.processInfo.environment
if StandardStream.canAsk { command.answer = { readLine() } }
exit(command.run(Array(CommandLine.arguments.dropFirst())))
