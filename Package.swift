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
    .library(name: "OperationTelemetry", targets: ["OperationTelemetry"]),
    .library(name: "OperationTimelines", targets: ["OperationTimelines"]),
    .library(name: "PipelineOperations", targets: ["PipelineOperations"]),
    .library(name: "WorkflowOperations", targets: ["WorkflowOperations"]),
    .executable(name: "durable-queue", targets: ["DurableQueueTool"]),
  ],
  targets: [
    .target(name: "CompositeOperations"),
    .target(name: "CompositeOperationsTestKit", dependencies: ["CompositeOperations"]),
    // No `pkgConfig`: with Homebrew's SQLite installed, SwiftPM would add its paths to builds for iOS, too.
    .systemLibrary(name: "CompositeOperationsSQLite"),
    // Declarations alone: libpq is opened when the first connection is made. Before glibc 2.34 that needs a library.
    .target(
      name: "CompositeOperationsPostgres", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(
      name: "DurableOperations",
      dependencies: [
        "CompositeOperations", "CompositeOperationsSQLite",
        .target(name: "CompositeOperationsPostgres", condition: .when(platforms: [.macOS, .linux])),
      ]),
    // Declarations alone: libcurl is the one that Foundation has loaded.
    .target(name: "CompositeOperationsCurl"),
    .target(
      name: "HTTPOperations",
      dependencies: [
        "CompositeOperations",
        .target(name: "CompositeOperationsCurl", condition: .when(platforms: [.linux, .android])),
      ]),
    .target(name: "ManagedOperations", dependencies: ["CompositeOperations", "HTTPOperations"]),
    .target(name: "PipelineOperations", dependencies: ["CompositeOperations", "HTTPOperations"]),
    .target(name: "OperationTelemetry", dependencies: ["CompositeOperations"]),
    .target(name: "OperationTimelines", dependencies: ["CompositeOperations"]),
    .target(name: "WorkflowOperations", dependencies: ["CompositeOperations", "OperationTimelines"]),

    .target(name: "CompositeOperationsCommandLine", dependencies: ["CompositeOperations"]),
    .executableTarget(name: "DurableQueueTool", dependencies: ["CompositeOperationsCommandLine", "DurableOperations"]),

    .target(name: "ExampleSupport", dependencies: ["CompositeOperationsCommandLine"], path: "Examples/Support"),
    .executableTarget(
      name: "Forecast",
      dependencies: [
        "CompositeOperations", "ExampleSupport", "HTTPOperations", "ManagedOperations", "OperationTimelines",
        "PipelineOperations",
      ],
      path: "Examples/Forecast"),
    .executableTarget(
      name: "LinkCheck",
      dependencies: ["CompositeOperations", "ExampleSupport", "HTTPOperations", "OperationTimelines"],
      path: "Examples/LinkCheck"),
    .executableTarget(
      name: "Outbox",
      dependencies: [
        "CompositeOperations", "DurableOperations", "ExampleSupport", "HTTPOperations", "WorkflowOperations",
      ],
      path: "Examples/Outbox"),
    .executableTarget(
      name: "PhotoOrder",
      dependencies: ["CompositeOperations", "ExampleSupport", "OperationTimelines", "WorkflowOperations"],
      path: "Examples/PhotoOrder"),
    .executableTarget(
      name: "ImagePipeline", dependencies: ["CompositeOperations", "ExampleSupport", "OperationTimelines"],
      path: "Examples/ImagePipeline"),
    .executableTarget(name: "QuickTour", dependencies: ["CompositeOperations"], path: "Examples/QuickTour"),

    .target(
      name: "TestSupport", dependencies: ["CompositeOperations", "CompositeOperationsTestKit", "OperationTimelines"],
      path: "Tests/TestSupport"),
    .executableTarget(name: "PlainProgram", dependencies: ["CompositeOperations"], path: "Tests/PlainProgram"),
    .executableTarget(
      name: "DurableProgram", dependencies: ["CompositeOperationsTestKit", "DurableOperations"],
      path: "Tests/DurableProgram"),
    .testTarget(name: "CompositeOperationsCommandLineTests", dependencies: ["CompositeOperationsCommandLine"]),
    .testTarget(
      name: "CompositeOperationsTests",
      dependencies: ["CompositeOperations", "OperationTimelines", "TestSupport", "PlainProgram"]),
    .testTarget(name: "EngineTests", dependencies: ["CompositeOperations", "OperationTimelines", "TestSupport"]),
    .testTarget(name: "PoliciesTests", dependencies: ["CompositeOperations", "OperationTimelines", "TestSupport"]),
    // The package as an app made with Xcode 26 uses it: everything belongs to the main actor unless it says otherwise.
    .testTarget(
      name: "MainActorTests",
      dependencies: ["CompositeOperations", "TestSupport"],
      swiftSettings: [
        .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]),
    .testTarget(
      name: "DurableOperationsTests",
      dependencies: [
        "CompositeOperations", "CompositeOperationsSQLite", "DurableOperations", "TestSupport", "DurableProgram",
      ]),
    .testTarget(
      name: "DurableQueueToolTests",
      dependencies: ["CompositeOperationsCommandLine", "DurableOperations", "DurableQueueTool", "TestSupport"]),
    .testTarget(
      name: "HTTPOperationsTests", dependencies: ["CompositeOperations", "HTTPOperations", "TestSupport"]),
    .testTarget(
      name: "ManagedOperationsTests",
      dependencies: ["CompositeOperations", "HTTPOperations", "ManagedOperations", "TestSupport"]),
    .testTarget(
      name: "OperationTelemetryTests",
      dependencies: [
        "CompositeOperations", "DurableOperations", "ManagedOperations", "OperationTelemetry", "TestSupport",
        "WorkflowOperations",
      ]),
    .testTarget(
      name: "OperationTimelinesTests", dependencies: ["CompositeOperations", "OperationTimelines", "TestSupport"]),
    .testTarget(
      name: "PipelineOperationsTests",
      dependencies: [
        "CompositeOperations", "HTTPOperations", "OperationTimelines", "PipelineOperations", "TestSupport",
      ]),
    .testTarget(
      name: "WorkflowOperationsTests",
      dependencies: ["CompositeOperations", "OperationTimelines", "WorkflowOperations", "TestSupport"]),
    .testTarget(name: "ForecastTests", dependencies: ["ExampleSupport", "Forecast", "TestSupport"]),
    .testTarget(name: "ImagePipelineTests", dependencies: ["ImagePipeline", "TestSupport"]),
    .testTarget(name: "LinkCheckTests", dependencies: ["ExampleSupport", "LinkCheck", "TestSupport"]),
    .testTarget(
      name: "OutboxTests",
      dependencies: [
        "CompositeOperations", "DurableOperations", "ExampleSupport", "HTTPOperations", "Outbox", "TestSupport",
      ]),
    .testTarget(
      name: "PhotoOrderTests", dependencies: ["ExampleSupport", "PhotoOrder", "WorkflowOperations", "TestSupport"]),
    // An own `malloc` for whoever links it: the benchmarks, and nothing else.
    .target(name: "AllocationCounter", path: "Tests/AllocationCounter"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "AllocationCounter", "CompositeOperations", "CompositeOperationsTestKit", "CompositeOperationsSQLite",
        "DurableOperations", "HTTPOperations", "ManagedOperations", "OperationTimelines", "PipelineOperations",
        "TestSupport", "WorkflowOperations",
      ],
      path: "Tests/Benchmarks"),
  ],
  swiftLanguageModes: [.v6]
)

// Only these targets, with commas in between, and what they use: ThreadSanitizer builds no more than it runs.
if let names = Context.environment["COMPOSITE_OPERATIONS_ONLY"] {
  var left: Set<String> = []
  func keep(_ name: String) {
    let target = package.targets.first { $0.name == name }
    guard let target else { fatalError("COMPOSITE_OPERATIONS_ONLY names \(name), which is no target.") }
    guard left.insert(name).inserted else { return }
    for dependency in target.dependencies { keep(dependency.targetName) }
  }
  for name in names.split(separator: ",") { keep(String(name)) }
  package.targets.removeAll { !left.contains($0.name) }
  package.products = []
}

// Only where the package itself is developed: Xcode and SwiftPM's newer build system build a dependency with
// `-suppress-warnings`, which conflicts, and a warning of a newer compiler must not break the build of those who use it.
let treatsWarningsAsErrors = Context.environment["COMPOSITE_OPERATIONS_WARNINGS_AS_ERRORS"] == "1"

// For a build from nothing, which .ci/run makes: modules are compiled as a whole and without debug information. That takes a
// quarter less time, but a change of one file compiles its whole module again.
let compilesModulesAsAWhole = Context.environment["COMPOSITE_OPERATIONS_WHOLE_MODULES"] == "1"

// Not InternalImportsByDefault: a generic subclass, in another module, of a class that inherits from one of Foundation's
// crashes when that import is internal (Swift 6.3).
for target in package.targets where target.type != .system {
  var settings = target.swiftSettings ?? []
  settings += [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
  if treatsWarningsAsErrors { settings.append(.treatAllWarnings(as: .error)) }
  if compilesModulesAsAWhole {
    // The frontend is told itself, since SwiftPM's own `-g` comes later than these flags. In debug builds SwiftPM expects an object
    // for each file, which a number of threads gives.
    settings.append(.unsafeFlags(["-Xfrontend", "-gnone"]))
    settings.append(.unsafeFlags(["-whole-module-optimization", "-num-threads", "1"], .when(configuration: .debug)))
  }
  target.swiftSettings = settings
}

extension Target.Dependency {
  /// Of a target in this package.
  fileprivate var targetName: String {
    switch self {
    case .byNameItem(let name, _), .targetItem(let name, _), .productItem(let name, _, _, _): name
    @unknown default: ""
    }
  }
}
