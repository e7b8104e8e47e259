import CompositeOperations
import InMemoryTracing
import Instrumentation
import Tracing

// Whether what operations do has spans, inside of each other and of the span of their maker.

@main struct Program {
  static func main() async throws {
    struct Failure: Error {}
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    OperationContext.propagate(ServiceContext.$current)
    let operation = withSpan("request") { _ in
      CompositeOperation(operations: [AsyncOperation<Void>(name: "inner") { throw Failure() }])
    }
    operation.name = "outer"
    operation.report(to: TracingSink())
    _ = try? await withSpan("other request") { _ in try await operation.run() }
    let spans = tracer.finishedSpans
    precondition(spans.map(\.operationName) == ["request", "inner", "outer", "other request"], "\(spans)")
    precondition(spans[1].parentSpanID == spans[2].spanID, "\(spans)")
    precondition(spans[2].parentSpanID == spans[0].spanID, "\(spans)")
    precondition(spans[1].errors.count == 1 && spans[1].status?.code == .error, "\(spans)")
  }
}
