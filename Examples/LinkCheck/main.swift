import ExampleSupport
import Foundation

StandardStream.ignoreBrokenPipes()
exit(await LinkCheckCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
