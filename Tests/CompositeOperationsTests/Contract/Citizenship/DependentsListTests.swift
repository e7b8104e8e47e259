import CompositeOperations
import Foundation
import TestSupport
import Testing

#if !canImport(Darwin)
/// On Linux an operation keeps unretained pointers to its dependents, and follows them when it
/// finishes. An operation that has ended, and may have been released, must not be among them.
@Suite("6 Foundation: nothing that has ended is left in the list of its dependency", .hangLimit)
struct DependentsListTests {
  @Test("A child that was cancelled before its composite started", arguments: Kind.allCases)
  func child_cancelledBefore_isNotInList(kind: Kind) async {
    let upstream = HeldOperation<Void>()
    let child = kind.make("child", EventRecorder())
    child.addDependency(upstream)
    child.cancel()
    let composite = CompositeOperation(operations: [child])
    _ = await outcomeOfStarting(composite)
    #expect(child.isFinished)
    #expect(dependents(of: upstream) == 0)
  }

  @Test("A child that waited when its composite was cancelled", arguments: Kind.allCases)
  func child_waitingWhenCancelled_isNotInList(kind: Kind) async {
    let upstream = HeldOperation<Void>()
    let child = kind.make("child", EventRecorder())
    child.addDependency(upstream)
    let sibling = HeldOperation<Void>()
    let composite = CompositeOperation(operations: [child, sibling])
    composite.maxConcurrentOperationCount = 1
    composite.start()
    await sibling.started.wait()
    composite.cancel()
    sibling.finish()
    await finished(composite)
    #expect(dependents(of: upstream) == 0)
  }

  @Test("An operation whose run() was cancelled while it waited", arguments: Kind.allCases)
  func root_cancelledWhileWaiting_isNotInList(kind: Kind) async {
    let upstream = HeldOperation<Void>()
    guard let root = kind.make("root", EventRecorder()) as? any ComposableOperation else { return }
    root.addDependency(upstream)
    let task = Task { _ = try await root.run() }
    task.cancel()
    _ = await task.result
    #expect(root.isFinished)
    // The task continues before the finished plain operation has left its dependencies.
    #expect(await Patience.reached { dependents(of: upstream) == 0 })
  }

  @Test("An operation that a dependency was added to after its end, when it is released")
  func dependencyAddedAfterTheEnd_isLeftWhenTheOperationIsReleased() {
    let upstream = HeldOperation<Void>()
    func addAndRelease() {
      let operation = succeeding(1)
      operation.start()
      operation.addDependency(upstream)
    }
    addAndRelease()
    #expect(dependents(of: upstream) == 0)
  }

  /// How many operations Foundation's list has. No public property tells.
  private func dependents(of operation: Operation) -> Int? {
    var mirror: Mirror? = Mirror(reflecting: operation)
    while let current = mirror, current.subjectType != Operation.self { mirror = current.superclassMirror }
    let list = mirror?.children.first { $0.label == "__downDependencies" }?.value
    return list.map { Mirror(reflecting: $0).children.count }
  }
}
#endif
