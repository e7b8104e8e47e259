import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A child runs at the higher of its own quality of service and the composite's. The tests read
/// that of the dispatch worker.
@Suite("3.2 Parallel: quality of service", .hangLimit)
struct QualityOfServiceTests {
  @Test("The probe of these tests distinguishes the qualities")
  func probe_tellsQualitiesApart() async {
    let classes = [
      await workerClass(of: .utility), await workerClass(of: .default), await workerClass(of: .userInitiated),
    ]
    #expect(Set(classes).count == 3)
  }

  @Test("3.2 A child of lower quality of service runs at the composite's")
  func child_ofLowerQuality_runsAtTheComposites() async {
    let seen = EventRecorder<String>()
    let composite = CompositeOperation(operations: (0..<4).map { _ in noting(.background, seen) })
    composite.qualityOfService = .userInitiated
    _ = await outcomeOfStarting(composite)
    #expect(Set(seen.events) == [await workerClass(of: .userInitiated)])
  }

  @Test("3.2 A child of higher quality of service runs at its own")
  func child_ofHigherQuality_runsAtItsOwn() async {
    let seen = EventRecorder<String>()
    let composite = CompositeOperation(operations: (0..<4).map { _ in noting(.userInitiated, seen) })
    composite.qualityOfService = .utility
    _ = await outcomeOfStarting(composite)
    #expect(Set(seen.events) == [await workerClass(of: .userInitiated)])
  }

  @Test("3.2 A nested composite passes the quality of service on")
  func child_ofNestedComposite_runsAtTheOuters() async {
    let seen = EventRecorder<String>()
    let inner = CompositeOperation(sequence: ListSequence([noting(.background, seen), noting(.utility, seen)]))
    inner.qualityOfService = .background
    let composite = CompositeOperation(operations: [inner])
    composite.qualityOfService = .userInitiated
    _ = await outcomeOfStarting(composite)
    #expect(Set(seen.events) == [await workerClass(of: .userInitiated)])
  }

  @Test("3.2 The quality of service that the user set stays what he set")
  func qualityOfService_asProperty_isKept() async {
    let child = succeeding(1)
    child.qualityOfService = .utility
    let composite = CompositeOperation(operations: [child])
    composite.qualityOfService = .userInitiated
    _ = await outcomeOfStarting(composite)
    #expect(composite.qualityOfService == .userInitiated)
    #expect(child.qualityOfService == .utility)
  }

  @Test("3.2 run() runs an operation at its own quality of service")
  func run_ofOperation_runsAtItsOwn() async throws {
    let seen = EventRecorder<String>()
    try await noting(.utility, seen).run()
    #expect(seen.events == [await workerClass(of: .utility)])
  }

  @Test("3.2 A step of a sequence, and a wrapped operation, of higher quality of service run at their own")
  func step_ofHigherQuality_runsAtItsOwn() async {
    let seen = EventRecorder<String>()
    let sequence = CompositeOperation(
      sequence: ListSequence([noting(.userInitiated, seen), succeeding(1), noting(.userInitiated, seen)]))
    sequence.qualityOfService = .utility
    #expect(await outcomeOfStarting(sequence).value?.count == 3)
    let mapped = noting(.userInitiated, seen).map { 1 }
    mapped.qualityOfService = .utility
    #expect(await outcomeOfStarting(mapped).value == 1)
    #expect(seen.count == 3)
    #expect(Set(seen.events) == [await workerClass(of: .userInitiated)])
  }

  @Test("3.2 Children that were given no quality of service run at the composite's, also below the default")
  func child_withoutQuality_runsAtTheComposites() async {
    let seen = EventRecorder<String>()
    let children: [Operation] = [
      SimpleOperation<Void> { operation in
        seen.record(currentWorkerClass())
        operation.finish()
      }, BlockOperation { seen.record(currentWorkerClass()) },
    ]
    let composite = CompositeOperation(operations: children)
    composite.qualityOfService = .utility
    _ = await outcomeOfStarting(composite)
    #expect(Set(seen.events) == [await workerClass(of: .utility)])
  }

  /// An operation that records which kind of dispatch worker runs it.
  private func noting(
    _ qualityOfService: QualityOfService, _ seen: EventRecorder<String>
  ) -> SimpleOperation<Void> {
    let operation = SimpleOperation<Void> { operation in
      seen.record(currentWorkerClass())
      operation.finish()
    }
    operation.qualityOfService = qualityOfService
    return operation
  }

  private func workerClass(of qualityOfService: DispatchQoS.QoSClass) async -> String {
    await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: qualityOfService).async { continuation.resume(returning: currentWorkerClass()) }
    }
  }
}
