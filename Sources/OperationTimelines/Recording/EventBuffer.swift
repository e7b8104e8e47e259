import CompositeOperations
import Synchronization

/// The events of one thread, which alone appends, without a lock. Every thread can read what was
/// appended.
final class EventBuffer: @unchecked Sendable {  // each element is written before the count that includes it
  private struct Chunk {
    let events: UnsafeMutablePointer<RecordedEvent>
    let capacity: Int
  }

  let thread: Timeline.Thread
  /// The pieces of the list. They are never moved, so readers do not disturb the writer.
  private let chunks = LockBox<[Chunk]>([])
  private let texts = LockBox<[RecordedText]>([])
  /// How many events can be read.
  private let published = Atomic(0)
  // Only the recording thread touches these. They are no objects, whose references it would have to
  // count.
  @exclusivity(unchecked) private var next: UnsafeMutablePointer<RecordedEvent>
  @exclusivity(unchecked) private var room = 0
  @exclusivity(unchecked) private var count = 0

  init(thread: Timeline.Thread) {
    self.thread = thread
    // Most threads record little.
    let capacity = 32
    next = .allocate(capacity: capacity)
    room = capacity
    let chunk = Chunk(events: next, capacity: capacity)
    chunks.withLock { $0.append(chunk) }
  }

  deinit {
    // Events are trivial values, which need no deinitialization.
    for chunk in chunks.withLock({ $0 }) { chunk.events.deallocate() }
  }

  @inline(__always)
  func append(_ event: RecordedEvent) {
    if room == 0 { grow() }
    next.initialize(to: event)
    next += 1
    room -= 1
    count += 1
    published.store(count, ordering: .releasing)
  }

  @inline(never)
  private func grow() {
    let capacity = min(max(64, count), 4096)
    next = .allocate(capacity: capacity)
    room = capacity
    let chunk = Chunk(events: next, capacity: capacity)
    chunks.withLock { $0.append(chunk) }
  }

  func append(_ text: RecordedText) {
    texts.withLock { $0.append(text) }
  }

  /// Calls `body` with the events so far, in order.
  func forEach(_ body: (RecordedEvent) -> Void) {
    var rest = published.load(ordering: .acquiring)
    for chunk in chunks.withLock({ chunks in chunks.map { $0 } }) {
      for index in 0..<min(rest, chunk.capacity) { body(chunk.events[index]) }
      rest -= min(rest, chunk.capacity)
    }
  }

  /// Copied inside the lock: ThreadSanitizer reports a race if a copy that shares the storage
  /// leaves it.
  var allTexts: [RecordedText] { texts.withLock { texts in texts.map { $0 } } }
}

/// The buffer that a thread used last, which saves a search.
///
/// The buffer is not retained: an idle thread must not keep the events of a recorder that is gone.
/// The recorder itself asks for it by its unique number, so it still exists.
final class BufferCache {
  private static let threadLocal = ThreadLocal { BufferCache() }

  static var current: BufferCache {
    @inline(__always) get { threadLocal.current }
  }

  private static let lastThread = Atomic(0)
  /// A unique number of this thread.
  let thread = BufferCache.lastThread.add(1, ordering: .relaxed).newValue
  @exclusivity(unchecked) private var recorder = 0
  @exclusivity(unchecked) private var buffer: Unmanaged<EventBuffer>?

  /// The buffer of a recorder, which retains it.
  @inline(__always)
  func buffer(of recorder: RecorderCore) -> Unmanaged<EventBuffer> {
    if recorder.number == self.recorder, let buffer { return buffer }
    return replace(recorder)
  }

  @inline(never)
  private func replace(_ recorder: RecorderCore) -> Unmanaged<EventBuffer> {
    let found = Unmanaged.passUnretained(recorder.buffer(ofThread: thread))
    buffer = found
    self.recorder = recorder.number
    return found
  }
}

/// One event of one operation, in 32 bytes.
struct RecordedEvent {
  enum Kind: UInt8 {
    case added, started, settled
  }

  enum Ending: UInt8 {
    case none, success, failure, cancelled
  }

  /// Nanoseconds since the recorder was made.
  let time: Int64
  /// The address of the operation's class, when it settled. Classes are never released.
  let type: UInt
  /// The number of the composition that the operation is in.
  let scope: UInt32
  /// Its number there.
  let tag: Int32
  let attempt: UInt32
  let kind: Kind
  var ending = Ending.none
  /// Whether the class is not a class of the package.
  var isPlain = false
}

/// What only few operations have.
struct RecordedText {
  let scope: UInt32
  let tag: Int32
  let name: String?
  /// The text of the error.
  let message: String?
  /// The kind of composition.
  let kind: OperationKind?
}
