import Synchronization

/// The events that one thread records: it alone appends, without a lock, and everybody can read what was appended.
final class EventBuffer: @unchecked Sendable {  // each element is written before the count that includes it
  /// A piece of the list, which is never moved, so that readers are not in the way.
  private final class Chunk: @unchecked Sendable {  // the elements as said above; `next` is set once, then published
    let capacity: Int
    let events: UnsafeMutablePointer<RecordedEvent>
    let count = Atomic(0)
    let next = LockBox<Chunk?>(nil)

    init(capacity: Int) {
      self.capacity = capacity
      events = .allocate(capacity: capacity)
    }

    // Events are trivial values: nothing to deinitialize.
    deinit { events.deallocate() }
  }

  let thread: Timeline.Thread
  private let first: Chunk
  // Only the thread that records touches these.
  @exclusivity(unchecked) private var last: Chunk
  @exclusivity(unchecked) private var lastCount = 0
  private let texts = LockBox<[RecordedText]>([])

  init(thread: Timeline.Thread) {
    self.thread = thread
    // Most threads record little.
    first = Chunk(capacity: 32)
    last = first
  }

  deinit {
    // One after the other, however many there are.
    var chunk = first.next.withLock { $0.take() }
    while let current = chunk { chunk = current.next.withLock { $0.take() } }
  }

  @inline(__always)
  func append(_ event: RecordedEvent) {
    if lastCount == last.capacity { grow() }
    (last.events + lastCount).initialize(to: event)
    lastCount += 1
    last.count.store(lastCount, ordering: .releasing)
  }

  @inline(never)
  private func grow() {
    let chunk = Chunk(capacity: min(last.capacity * 2, 4096))
    last.next.withLock { $0 = chunk }
    last = chunk
    lastCount = 0
  }

  func append(_ text: RecordedText) {
    texts.withLock { $0.append(text) }
  }

  /// Calls `body` with the events so far, in order.
  func forEach(_ body: (RecordedEvent) -> Void) {
    var chunk: Chunk? = first
    while let current = chunk {
      let count = current.count.load(ordering: .acquiring)
      for index in 0..<count { body(current.events[index]) }
      chunk = current.next.withLock { $0 }
    }
  }

  var allTexts: [RecordedText] { texts.withLock { $0 } }
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

  @inline(__always)
  func buffer(of recorder: Int, _ make: (BufferCache) -> EventBuffer) -> EventBuffer {
    if recorder == self.recorder, let buffer { return buffer.takeUnretainedValue() }
    return replace(recorder, make)
  }

  @inline(never)
  private func replace(_ recorder: Int, _ make: (BufferCache) -> EventBuffer) -> EventBuffer {
    let made = make(self)
    buffer = Unmanaged.passUnretained(made)
    self.recorder = recorder
    return made
  }
}
