// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "CompositeOperations",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CompositeOperations", targets: ["CompositeOperations"]),
    .library(name: "CompositeOperationsTestKit", targets: ["CompositeOperationsTestKit"]),
    .library(name: "DurableOperations", targets: ["DurableOperations"]),
    .library(name: "HTTPOperations", targets: ["HTTPOperations"]),
    .library(name: "ManagedOperations", targets: ["ManagedOperations"]),
    .library(name: "Pipelines", targets: ["Pipelines"]),
    .library(name: "Workflows", targets: ["Workflows"]),
    .executable(name: "durable-queue", targets: ["DurableQueueTool"]),
    .executable(name: "Forecast", targets: ["Forecast"]),
    .executable(name: "LinkCheck", targets: ["LinkCheck"]),
    .executable(name: "Outbox", targets: ["Outbox"]),
    .executable(name: "PhotoOrder", targets: ["PhotoOrder"]),
  ],
  targets: [
    .target(name: "CompositeOperations"),
    .target(name: "CompositeOperationsTestKit", dependencies: ["CompositeOperations"]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(name: "DurableOperations", dependencies: ["CompositeOperations", "CSQLite"]),
    .target(name: "HTTPOperations", dependencies: ["CompositeOperations"]),
    .target(name: "ManagedOperations", dependencies: ["CompositeOperations", "HTTPOperations"]),
    .target(name: "Pipelines", dependencies: ["CompositeOperations", "HTTPOperations"]),
    .target(name: "Workflows", dependencies: ["CompositeOperations"]),

    .target(name: "CommandLineSupport"),
    .executableTarget(name: "DurableQueueTool", dependencies: ["CommandLineSupport", "DurableOperations"]),

    .target(name: "ExampleSupport", dependencies: ["CommandLineSupport"], path: "Examples/Support"),
    .executableTarget(
      name: "Forecast",
      dependencies: ["CompositeOperations", "ExampleSupport", "HTTPOperations", "ManagedOperations", "Pipelines"],
      path: "Examples/Forecast"),
    .executableTarget(
      name: "LinkCheck", dependencies: ["CompositeOperations", "ExampleSupport"], path: "Examples/LinkCheck"),
    .executableTarget(
      name: "Outbox",
      dependencies: ["CompositeOperations", "DurableOperations", "ExampleSupport", "HTTPOperations", "Workflows"],
      path: "Examples/Outbox"),
    .executableTarget(
      name: "PhotoOrder", dependencies: ["CompositeOperations", "ExampleSupport", "Workflows"],
      path: "Examples/PhotoOrder"),
    .executableTarget(
      name: "ImagePipeline", dependencies: ["CompositeOperations", "ExampleSupport"], path: "Examples/ImagePipeline"),
    .executableTarget(name: "QuickTour", dependencies: ["CompositeOperations"], path: "Examples/QuickTour"),

    .target(
      name: "TestSupport", dependencies: ["CompositeOperations", "CompositeOperationsTestKit"],
      path: "Tests/TestSupport"),
    .executableTarget(name: "PlainProgram", dependencies: ["CompositeOperations"], path: "Tests/PlainProgram"),
    .executableTarget(
      name: "DurableProgram", dependencies: ["CompositeOperationsTestKit", "DurableOperations"],
      path: "Tests/DurableProgram"),
    .testTarget(name: "CommandLineSupportTests", dependencies: ["CommandLineSupport"]),
    .testTarget(
      name: "CompositeOperationsTests",
      dependencies: ["CompositeOperations", "TestSupport", "PlainProgram"]),
    .testTarget(
      name: "DurableOperationsTests",
      dependencies: ["CompositeOperations", "CSQLite", "DurableOperations", "TestSupport", "DurableProgram"]),
    .testTarget(
      name: "DurableQueueToolTests",
      dependencies: ["CommandLineSupport", "DurableOperations", "DurableQueueTool", "TestSupport"]),
    .testTarget(
      name: "HTTPOperationsTests", dependencies: ["CompositeOperations", "HTTPOperations", "TestSupport"]),
    .testTarget(
      name: "ManagedOperationsTests",
      dependencies: ["CompositeOperations", "HTTPOperations", "ManagedOperations", "TestSupport"]),
    .testTarget(
      name: "PipelinesTests", dependencies: ["CompositeOperations", "HTTPOperations", "Pipelines", "TestSupport"]),
    .testTarget(name: "WorkflowsTests", dependencies: ["CompositeOperations", "Workflows", "TestSupport"]),
    .testTarget(name: "ForecastTests", dependencies: ["ExampleSupport", "Forecast", "TestSupport"]),
    .testTarget(name: "LinkCheckTests", dependencies: ["ExampleSupport", "LinkCheck", "TestSupport"]),
    .testTarget(
      name: "OutboxTests", dependencies: ["DurableOperations", "ExampleSupport", "Outbox", "TestSupport"]),
    .testTarget(name: "PhotoOrderTests", dependencies: ["ExampleSupport", "PhotoOrder", "Workflows", "TestSupport"]),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CompositeOperations", "CompositeOperationsTestKit", "CSQLite", "DurableOperations", "HTTPOperations",
        "ManagedOperations", "Pipelines", "TestSupport", "Workflows",
      ],
      path: "Tests/Benchmarks"),
  ],
  swiftLanguageModes: [.v6]
)

// Not InternalImportsByDefault: a generic subclass, in another module, of a class that inherits from one of Foundation's
// crashes when that import is internal (Swift 6.3).
for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
