import ExampleSupport
import Foundation

StandardStream.ignoreBrokenPipes()
exit(await OutboxCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
