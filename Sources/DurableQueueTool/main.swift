import CompositeOperationsCommandLine
import Foundation

StandardStream.ignoreBrokenPipes()
var command = DurableQueueCommand(width: StandardStream.output.terminalWidth, output: StandardStream.output.write) {
  // If standard error is closed, the failure to write to it does not matter.
  try? StandardStream.error.write($0)
}
command.environment = ProcessInfo.processInfo.environment
if StandardStream.canAsk { command.answer = { readLine() } }
exit(command.run(Array(CommandLine.arguments.dropFirst())))
