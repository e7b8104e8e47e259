import Testing

@testable import CompositeOperations

@Suite("8 A queue with a head", .hangLimit)
struct HeadedQueueTests {
  @Test func popFirst_givesWhatWasAppended_inOrder() {
    var queue = HeadedQueue<Int>()
    #expect(queue.isEmpty && queue.popFirst() == nil)
    queue.append(1)
    queue.append(contentsOf: [2, 3])
    #expect(queue.count == 3)
    #expect([queue.popFirst(), queue.popFirst(), queue.popFirst(), queue.popFirst()] == [1, 2, 3, nil])
    queue.append(4)
    #expect(queue.popFirst() == 4 && queue.isEmpty)
  }

  @Test func popFirst_neverEmpty_doesNotGrow() {
    var queue = HeadedQueue<Int>()
    queue.append(contentsOf: 0..<500)
    for number in 500..<100_000 {
      queue.append(number)
      #expect(queue.popFirst() == number - 500)
    }
    #expect(queue.count == 500 && queue.places.count < 4_000)
  }

  @Test func popFirst_leavingAnother_keepsNothingOfTheFirst() {
    final class Storage {}
    var storage: Storage? = Storage()
    weak let released = storage
    var queue = HeadedQueue<Storage?>()
    queue.append(storage)
    queue.append(nil)
    storage = nil
    #expect(released != nil)
    #expect(queue.popFirst(leaving: nil) != nil)
    #expect(released == nil && queue.count == 1)
  }

  @Test func keep_leavesTheOthersOut_inOrder() {
    var queue = HeadedQueue<Int>()
    queue.append(contentsOf: 0..<10)
    _ = queue.popFirst()
    queue.keep { $0 % 2 == 0 }
    #expect(queue.count == 4)
    #expect([queue.popFirst(), queue.popFirst(), queue.popFirst(), queue.popFirst()] == [2, 4, 6, 8])
    #expect(queue.isEmpty)
  }
}
