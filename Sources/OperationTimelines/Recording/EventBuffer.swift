import CompositeOperations
import Synchronization

/// The events that one thread records: it alone appends, without a lock, and everybody can read what was appended.
final class EventBuffer: @unchecked Sendable {  // each element is written before the count that includes it
  private struct Chunk {
    let events: UnsafeMutablePointer<RecordedEvent>
    let capacity: Int
  }

  let thread: Timeline.Thread
  /// The pieces of the list, which are never moved, so that readers are not in the way.
  private let chunks = LockBox<[Chunk]>([])
  private let texts = LockBox<[RecordedText]>([])
  /// How many events can be read.
  private let published = Atomic(0)
  // Only the thread that records touches these, and no object, whose references would have to be counted.
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
    // Events are trivial values: nothing to deinitialize.
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

  /// Copied inside the lock: ThreadSanitizer takes it for a race if a copy that shares the storage leaves it.
  var allTexts: [RecordedText] { texts.withLock { texts in texts.map { $0 } } }
}

/// Which buffer a thread used last, so that it needs not be looked for.
///
/// A pointer that is not retained: a thread that idles must not keep the events of a recorder that is gone. The number of
/// the recorder, which no other gets, tells that it is still there, for it is the recorder that asks.
final class BufferCache {
  private static let threadLocal = ThreadLocal { BufferCache() }

  static var current: BufferCache {
    @inline(__always) get { threadLocal.current }
  }

  private static let lastThread = Atomic(0)
  /// A number that no other thread gets.
  let thread = BufferCache.lastThread.add(1, ordering: .relaxed).newValue
  @exclusivity(unchecked) private var recorder = 0
  @exclusivity(unchecked) private var buffer: Unmanaged<EventBuffer>?

  /// The buffer of a recorder, which keeps it.
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

/// One thing that happened to one operation, in 32 bytes.
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
  /// Whether the class is not one of the package's.
  var isPlain = false
}

/// What is known of few operations only.
struct RecordedText {
  let scope: UInt32
  let tag: Int32
  let name: String?
  /// What the error said.
  let message: String?
  /// Which composition it is.
  let kind: OperationKind?
}
