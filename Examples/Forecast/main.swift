import Foundation

exit(await ForecastCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
