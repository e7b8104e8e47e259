import ExampleSupport
import Foundation

StandardStream.ignoreBrokenPipes()
exit(await ForecastCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
