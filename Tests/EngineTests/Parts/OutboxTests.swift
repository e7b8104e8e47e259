import Testing

@testable import CompositeOperations

@Suite("Outbox") struct OutboxTests {
  @Test func entry_whileNobodyTells_isTheCallersToTell() {
    var outbox = Outbox<Int>()
    #expect(!outbox.beginDelivery())
    outbox.append(1)
    outbox.append(contentsOf: [2, 3])
    #expect(outbox.entries == [1, 2, 3])
    #expect(outbox.beginDelivery() && outbox.isDelivering)
    #expect(outbox.nextDelivery() == [1, 2, 3])
    #expect(outbox.isEmpty)
  }

  @Test func entry_whileSomebodyTells_isToldByHim() {
    var outbox = Outbox<Int>()
    outbox.append(1)
    #expect(outbox.beginDelivery())
    #expect(outbox.nextDelivery() == [1])
    outbox.append(2)
    #expect(!outbox.beginDelivery())
    #expect(outbox.nextDelivery() == [2])
    #expect(outbox.nextDelivery() == nil)
    #expect(!outbox.isDelivering)
  }
}
