import Foundation

exit(await PhotoOrderCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
