import ExampleSupport

StandardStream.ignoreBrokenPipes()
await ImagePipelineCommand.main()
