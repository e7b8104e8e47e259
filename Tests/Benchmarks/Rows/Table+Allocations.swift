import CompositeOperations
import Foundation

extension Table {
  /// The allocations of an operation: the same on a busy machine as on an idle one.
  static var allocations: [Row] {
    let registry = ExclusionRegistry()
    let manager = Managed.manager()
    let pipeline = Hops.pipeline(3)
    return [
      allocations("a child in parallel", toReach: 8) { count in .blocking { Parallel.run(count) } },
      allocations("a step of a sequence", toReach: 8) { count in .blocking { Sequential.run(count) } },
      allocations("map", toReach: 21) { oneByOne($0) { _ in emptyOperation().map {} } },
      allocations("timeout", toReach: 22) { oneByOne($0) { _ in emptyOperation().timeout(.seconds(60)) } },
      // Where a thread waits, it depends on whether `start()` has returned when the condition
      // holds.
      allocations("condition, awaited", toReach: 31, today: 36) { count in
        .async {
          for _ in 0..<count { await finish(emptyOperation().condition(Condition { _ in true })) }
        }
      },
      allocations("exclusive", toReach: 22) {
        oneByOne($0) { emptyOperation().exclusive(ExclusionCategory("\($0)"), in: registry) }
      },
      allocations("retrying", toReach: 20) {
        let policy = RetryPolicy()
        return oneByOne($0) { _ in retrying(policy) { _ in emptyOperation() } }
      },
      allocations("run()", toReach: 10) { count in
        .async {
          for _ in 0..<count { await finish(emptyOperation()) }
        }
      },
      allocations("a managed task", toReach: 17, today: 18) { count in .async { await Managed.run(count, by: manager) }
      },
      allocations("a task of a workflow", toReach: 10) { count in
        let graph = Graph.loose(count)
        return .blocking { graph.runWorkflow() }
      },
      allocations("a pipeline of 3 steps", toReach: 36, today: 42) { count in
        .blocking {
          for _ in 0..<count { Hops.run(pipeline, steps: 3) }
        }
      },
    ]
  }

  /// A row whose figure may be a tenth more, because of thread timing.
  ///
  /// The aims exclude `posix_memalign`, with which Foundation allocates the four locks of each
  /// operation: they are added here, and so are those of `run()` for the awaited
  /// condition.
  private static func allocations(
    _ name: String, toReach aim: Double, today: Double? = nil, _ subject: @escaping @Sendable (Int) -> Side
  ) -> Row {
    Row(
      section: "Allocations", name: name, count: 1_000,
      budget: .atMost(aim + 0.1, known: today.map { $0 + 0.1 }), measurement: .allocations(subject))
  }

  /// Makes operations one after the other, and waits for each.
  private static func oneByOne(
    _ count: Int, _ makeOperation: @escaping @Sendable (Int) -> SimpleOperation<Void>
  ) -> Side {
    .blocking {
      for number in 0..<count { finish(makeOperation(number)) }
    }
  }
}
