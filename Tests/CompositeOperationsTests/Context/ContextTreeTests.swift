import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.11 Task-local values in random trees", .hangLimit)
struct ContextTreeTests {
  @Test("Whoever starts, settles and cancels: all code of an operation sees its maker, or its composition")
  func randomTrees_eachSeesItsOwn() async {
    Request.registration
    for seed in 0..<Scale.count(5_000, least: 250) {
      var random = SeededRandomNumberGenerator(seed: UInt64(seed))
      let wrong = EventRecorder<String>()
      let tree = ContextTree(depth: 4, using: &random)
      let operation = Request.$id.withValue(nil) { tree.make(in: nil, wrong) }
      let cancels = Int.random(in: 0..<4, using: &random) == 0
      await Request.elsewhere(98) { operation.start() }
      if cancels { await Request.elsewhere(99) { operation.cancel() } }
      _ = await settled(operation)
      guard wrong.events.isEmpty else {
        Issue.record("seed \(seed), \(tree): \(wrong.events)")
        return
      }
    }
  }
}

/// An operation of a random tree, and those in it.
private struct ContextTree: CustomStringConvertible {
  enum Kind: CaseIterable {
    case parallel, sequence, then, retrying, forEach
  }

  enum Leaf: CaseIterable {
    case closure, async, settledByAnother
  }

  /// The request that the operation is made in; nil for none.
  let request: Int?
  let kind: Kind
  let leaf: Leaf
  let children: [ContextTree]

  init(depth: Int, using random: inout SeededRandomNumberGenerator) {
    request = Bool.random(using: &random) ? Int.random(in: 1...3, using: &random) : nil
    kind = Kind.allCases.randomElement(using: &random)!
    leaf = Leaf.allCases.randomElement(using: &random)!
    var children: [ContextTree] = []
    for _ in 0..<(depth == 0 ? 0 : Int.random(in: 0...3, using: &random)) {
      children.append(ContextTree(depth: depth - 1, using: &random))
    }
    self.children = children
  }

  var description: String {
    let name = "\(request.map { "\($0)" } ?? "-") \(children.isEmpty ? "\(leaf)" : "\(kind)")"
    return children.isEmpty ? name : "\(name)(\(children.map(\.description).joined(separator: ", ")))"
  }

  /// Makes the operation where this is called, or in its own request.
  ///
  /// - Parameter outer: the request of the composition around it.
  func make(in outer: Int?, _ wrong: EventRecorder<String>) -> SimpleOperation<Void> {
    guard let request else { return make(seeing: outer, wrong) }
    return Request.$id.withValue(request) { make(seeing: request, wrong) }
  }

  private func make(seeing expected: Int?, _ wrong: EventRecorder<String>) -> SimpleOperation<Void> {
    @Sendable func check(_ place: String) {
      if Request.id != expected { wrong.record("\(place) of \(self) saw \(Request.current)") }
    }
    let operation = children.isEmpty ? makeLeaf(check) : makeComposition(seeing: expected, wrong, check)
    operation.completion = { _ in check("completion") }
    operation.onCancel = { check("onCancel") }
    operation.addObserver { _ in check("observer") }
    return operation
  }

  private func makeLeaf(_ check: @escaping @Sendable (String) -> Void) -> SimpleOperation<Void> {
    switch leaf {
    case .closure: SimpleOperation { check("body") }
    case .async:
      AsyncOperation {
        check("body")
        await Task.yield()
        check("body")
      }
    case .settledByAnother:
      SimpleOperation { operation in
        check("body")
        DispatchQueue.global().async { Request.with(97) { _ = operation.finish() } }
      }
    }
  }

  private func makeComposition(
    seeing expected: Int?, _ wrong: EventRecorder<String>, _ check: @escaping @Sendable (String) -> Void
  ) -> SimpleOperation<Void> {
    let children = children
    switch kind {
    case .parallel: return all(children.map { $0.make(in: expected, wrong) }).map { _ in check("transform") }
    case .sequence:
      let index = Locked(0)
      let composite = CompositeOperation(
        sequence: ClosureSequence { _ in
          check("delegate")
          let next = index.increment() - 1
          return next < children.count ? children[next].make(in: expected, wrong) : nil
        })
      return composite.map { _ in check("transform") }
    case .then:
      return children.dropFirst().reduce(children[0].make(in: expected, wrong).map {}) { upstream, child in
        upstream.then { _ in
          check("closure")
          return child.make(in: expected, wrong)
        }
      }
    case .retrying:
      return retrying(RetryPolicy(maxAttempts: children.count, backoff: .constant(.zero))) { attempt in
        check("make")
        let child = children[attempt.number - 1].make(in: expected, wrong)
        return attempt.number < children.count ? child.map { throw TestError.first } : child
      } decide: { _ in
        check("decide")
        return .retry
      }
    case .forEach:
      return forEach(children, maxConcurrent: 2) { child in
        check("make")
        return child.make(in: expected, wrong)
      }.map { _ in check("transform") }
    }
  }
}
