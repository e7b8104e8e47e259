import Foundation

exit(await LinkCheckCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
