import CompositeOperations
import Foundation
import Synchronization

extension RecorderCore {
  /// Makes entries from what was recorded.
  func timeline() -> Timeline {
    // An operation that has finished has settled, even if the recorder has not heard of it yet.
    let finished = finishedOperations()
    let end = now()
    // First the events, then the compositions, which were recorded before the first event in them.
    var resolution = TimelineResolution(end: end)
    let buffers = state.withLock { $0.buffers.values.sorted { $0.thread.number < $1.thread.number } }
    for buffer in buffers { resolution.add(buffer) }
    let state = state.withLock { $0 }
    for (operation, place) in finished {
      resolution.add(operation, scope: place.scope, tag: place.tag, hadFinished: true)
    }
    for (scope, owner) in zip(state.scopes, state.owners) { resolution.add(scope, owner) }
    for (index, root) in state.roots.enumerated() {
      if let operation = root.operation { resolution.add(operation, scope: 0, tag: Int32(index + 1)) }
    }
    for (tag, owner) in state.replacedRoots { resolution.replaceRoot(tag, by: owner) }
    return resolution.timeline()
  }
}

extension RecorderCore {
  private func finishedOperations() -> [(Operation, Owner)] {
    let (roots, scopes) = state.withLock { ($0.roots, $0.scopes) }
    var finished: [(Operation, Owner)] = []
    for (index, root) in roots.enumerated() {
      if let operation = root.operation, operation.isFinished {
        finished.append((operation, Owner(scope: 0, tag: Int32(index + 1))))
      }
    }
    for scope in scopes {
      scope.composition?.forEachChild { child, tag in
        guard child.isFinished else { return }
        finished.append((child, Owner(scope: scope.number, tag: Int32(truncatingIfNeeded: tag))))
      }
    }
    return finished
  }
}

/// Collects what was recorded of each operation.
private struct TimelineResolution {
  private typealias Key = RecorderCore.Owner

  private struct Record {
    var added: Int64?
    var started: Int64?
    var settled: Int64?
    var ending = RecordedEvent.Ending.none
    var thread: Timeline.Thread?
    var name: String?
    var message: String?
    var type: UInt = 0
    var isPlain = false
    var attempt = 1
    var kind: OperationKind?

    var first: Int64 { min(added ?? .max, started ?? .max, settled ?? .max) }
  }

  private let end: Int64
  private var records: [Key: Record] = [:]
  private var owners: [UInt32: Key] = [:]
  private var typeNames: [UInt: String] = [:]

  init(end: Int64) {
    self.end = end
  }

  mutating func add(_ buffer: EventBuffer) {
    buffer.forEach { event in
      // A later event may have causes that were not read.
      guard event.time <= end else { return }
      let key = Key(scope: event.scope, tag: event.tag)
      switch event.kind {
      case .added:
        records[key, default: Record()].added = min(event.time, records[key]?.added ?? .max)
      case .started:
        guard records[key]?.started.map({ $0 > event.time }) ?? true else { return }
        records[key, default: Record()].started = event.time
        records[key]?.thread = buffer.thread
      case .settled:
        var record = records[key] ?? Record()
        record.settled = event.time
        record.ending = event.ending
        record.type = event.type
        record.isPlain = event.isPlain
        record.attempt = Int(event.attempt)
        records[key] = record
      }
    }
    for text in buffer.allTexts {
      let key = Key(scope: text.scope, tag: text.tag)
      guard records[key] != nil else { continue }
      records[key]?.name = text.name
      records[key]?.message = text.message
      records[key]?.kind = text.kind
    }
  }

  mutating func add(_ scope: RecorderScope, _ owner: RecorderCore.Owner) {
    owners[scope.number] = owner
    records[owner, default: Record()].kind = scope.kind
    let count = scope.addedCount.load(ordering: .acquiring)
    let time = scope.addedAt.load(ordering: .relaxed)
    if count > 0, time <= end {
      for tag in 0..<count {
        let key = Key(scope: scope.number, tag: Int32(truncatingIfNeeded: tag))
        records[key, default: Record()].added = min(time, records[key]?.added ?? .max)
      }
    }
    guard let composition = scope.composition else { return }
    composition.forEachChild { child, tag in
      add(child, scope: scope.number, tag: Int32(truncatingIfNeeded: tag))
    }
  }

  /// Adds the present state of an operation whose end was not recorded.
  ///
  /// - Parameter hadFinished: whether it had finished before the end. If it has finished since, it
  ///   counts as unfinished, for its contents may have ended after the end, too.
  mutating func add(_ operation: Operation, scope: UInt32, tag: Int32, hadFinished: Bool = false) {
    let key = Key(scope: scope, tag: tag)
    guard let record = records[key], record.settled == nil else { return }
    let own = operation as? SettlingOperation
    records[key]?.name = operation.name
    records[key]?.type = unsafeBitCast(type(of: operation) as AnyClass, to: UInt.self)
    records[key]?.isPlain = own == nil
    if let kind = own?.shownKind { records[key]?.kind = kind }
    // Code that waited for it may have heard of its end before the recorder.
    guard hadFinished else { return }
    records[key]?.settled = end
    switch operation.anyOutcome {
    case .success: records[key]?.ending = .success
    case .failure(let error):
      records[key]?.ending = .failure
      records[key]?.message = RecorderCore.describe(error)
    case .cancelled: records[key]?.ending = .cancelled
    case nil: break
    }
  }

  /// Moves a root to its place in a composition.
  mutating func replaceRoot(_ tag: Int32, by owner: RecorderCore.Owner) {
    guard let root = records.removeValue(forKey: Key(scope: 0, tag: tag)), var record = records[owner] else { return }
    record.added = min(root.first, record.first)
    if let started = root.started, started < record.started ?? .max {
      record.started = started
      record.thread = root.thread
    }
    records[owner] = record
  }

  // MARK: - Entries

  mutating func timeline() -> Timeline {
    completeParents()
    let order = records.keys.map { (key: $0, time: records[$0]!.first) }.sorted { left, right in
      (left.time, left.key.scope, left.key.tag) < (right.time, right.key.scope, right.key.tag)
    }
    var numbers: [Key: Int] = [:]
    var entries: [Timeline.Entry] = []
    entries.reserveCapacity(order.count)
    for (key, _) in order {
      // A parent comes first, even if it became known later.
      var chain: [Key] = []
      var next: Key? = key
      while let key = next, numbers[key] == nil, chain.count <= records.count {
        chain.append(key)
        next = owners[key.scope]
      }
      for key in chain.reversed() {
        numbers[key] = entries.count + 1
        entries.append(
          entry(key, records[key]!, number: entries.count + 1, parent: owners[key.scope].flatMap { numbers[$0] }))
      }
    }
    return Timeline(entries: entries, end: .nanoseconds(end))
  }

  /// Ensures that each composition has a record that begins no later than those of its children.
  private mutating func completeParents() {
    for key in Array(records.keys) {
      var key = key
      var first = records[key]!.first
      while let parent = owners[key.scope] {
        if let known = records[parent], known.first <= first { break }
        first = first == .max ? end : first
        records[parent, default: Record()].added = first
        key = parent
      }
    }
    for (key, record) in records where record.first == .max { records[key]?.added = end }
  }

  private mutating func entry(_ key: Key, _ record: Record, number: Int, parent: Int?) -> Timeline.Entry {
    let ending: Timeline.Ending? =
      switch record.ending {
      case .none: nil
      case .success: .success
      case .failure: .failure(message: record.message ?? "")
      case .cancelled: .cancelled
      }
    // An operation that settled by itself has no recorded start. One that settled while the
    // recorder was being attached has a start that is too late.
    let started = record.started.map { min($0, record.settled ?? $0) }
    return Timeline.Entry(
      id: number, parent: parent, name: record.name, type: typeName(record.type),
      kind: record.kind.map { Timeline.Kind(rawValue: $0.rawValue) } ?? (record.isPlain ? .plain : .operation),
      queued: .nanoseconds(record.first),
      started: started.map { .nanoseconds($0) }, settled: record.settled.map { .nanoseconds($0) }, ending: ending,
      thread: record.thread, attempt: record.attempt, tag: Int(key.tag))
  }

  private mutating func typeName(_ type: UInt) -> String {
    guard type != 0 else { return "Operation" }
    if let name = typeNames[type] { return name }
    let known: AnyClass = unsafeBitCast(type, to: AnyClass.self)
    let name = (known as? SettlingOperation.Type)?.typeDescription ?? "\(known)"
    typeNames[type] = name
    return name
  }
}
