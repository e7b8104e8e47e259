import CompositeOperations
import Foundation

extension Table {
  /// Uncontended categories: the cost of mutual exclusion itself.
  static var exclusion: [Row] {
    let registry = ExclusionRegistry()
    let names = LockedNames()
    let operation = emptyOperation()
    let taking = [1, 3].map { count in
      let texts = (0..<count).map { "category \($0)" }
      let categories = texts.map { ExclusionCategory($0) }
      return Row(
        section: "Mutual exclusion", name: "\(count == 1 ? "a category" : "3 categories"), taken and released",
        against: "names in a set behind a lock", count: 1_000, budget: count == 1 ? .atMost(4) : nil,
        measurement: .comparison(
          subject: .blocking { for _ in 0..<1_000 { registry.takeAndRelease(categories, for: operation) } },
          peer: .blocking { for _ in 0..<1_000 { names.takeAndRelease(texts) } }))
    }
    let running = Row(
      section: "Mutual exclusion", name: "1,000 children, a category for each",
      against: "map", count: 1_000,
      measurement: .comparison(
        subject: .blocking {
          finish(
            CompositeOperation(
              operations: (0..<1_000).map { emptyOperation().exclusive(ExclusionCategory("\($0)"), in: registry) }))
        },
        peer: .blocking { finish(CompositeOperation(operations: (0..<1_000).map { _ in emptyOperation().map { $0 } })) }
      ))
    return taking + [running]
  }
}
