import ExampleSupport
import Foundation

StandardStream.ignoreBrokenPipes()
exit(await PhotoOrderCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
