import Foundation

await ImagePipelineCommand.main()
