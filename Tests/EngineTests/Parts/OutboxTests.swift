import Testing

@testable import CompositeOperations

@Suite("Outbox") struct OutboxTests {
  @Test func entry_whileNobodyTells_isTheCallersToTell() {
    var outbox = Outbox<Int>()
    let beganWithNothing = outbox.beginDelivery()
    outbox.append(1)
    outbox.append(contentsOf: [2, 3])
    #expect(!beganWithNothing)
    #expect(outbox.entries == [1, 2, 3])
    let began = outbox.beginDelivery()
    let delivery = outbox.nextDelivery()
    #expect(began && outbox.isDelivering)
    #expect(delivery == [1, 2, 3])
    #expect(outbox.isEmpty)
  }

  @Test func entry_whileSomebodyTells_isToldByHim() {
    var outbox = Outbox<Int>()
    outbox.append(1)
    let began = outbox.beginDelivery()
    var deliveries = [outbox.nextDelivery()]
    outbox.append(2)
    let beganAgain = outbox.beginDelivery()
    deliveries.append(outbox.nextDelivery())
    deliveries.append(outbox.nextDelivery())
    #expect(began && !beganAgain)
    #expect(deliveries == [[1], [2], nil])
    #expect(!outbox.isDelivering)
  }
}
