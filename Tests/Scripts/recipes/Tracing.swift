import CompositeOperations
import InMemoryTracing
import Instrumentation
import Tracing

// Whether what operations do has spans, inside of each other.

@main struct Program {
  static func main() async throws {
    struct Failure: Error {}
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    let operation = CompositeOperation(operations: [AsyncOperation<Void>(name: "inner") { throw Failure() }])
    operation.name = "outer"
    operation.report(to: TracingSink())
    _ = try? await operation.run()
    let spans = tracer.finishedSpans
    precondition(spans.map(\.operationName) == ["inner", "outer"], "\(spans)")
    precondition(spans[0].parentSpanID == spans[1].spanID, "\(spans)")
    precondition(spans[0].errors.count == 1 && spans[0].status?.code == .error, "\(spans)")
  }
}
