import CompositeOperations
import Metrics
import MetricsTestKit

// Whether what an operation does is measured.

@main struct Program {
  static func main() async throws {
    let metrics = TestMetrics()
    MetricsSystem.bootstrap(metrics)
    let operation = AsyncOperation(name: "work") { 1 }
    operation.report(to: MetricsSink())
    _ = try await operation.run()
    let subject = [("library", "CompositeOperations"), ("subject", "AsyncOperation<Int>")]
    let succeeded = subject + [("event", "succeeded")]
    let count = try metrics.expectCounter("operations_events", succeeded).totalValue
    let executing = try metrics.expectMeter("operations_executing", subject).lastValue
    let durations = try metrics.expectTimer("operations_duration", succeeded).values
    precondition(count == 1 && executing == 0 && durations.count == 1)
  }
}
