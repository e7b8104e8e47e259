#if os(macOS) || os(Linux)
import CompositeOperations
import DurableOperations
import Foundation
import TestSupport

/// Jobs that many threads enqueue at the same time, through one queue, while other queues are told of them; and bare connections,
/// one for each thread, that tell nobody.
final class Crowd: Sendable {
  static let sixteen = Result { try Crowd(16) }

  private let queue: DurableQueue
  private let listeners: [DurableQueue]
  private let peers: [PostgresPeer]
  private let payload: [UInt8]

  init(_ count: Int) throws {
    let server = try PostgresServer.sharedBlocking()
    var configuration = DurableQueue.Configuration()
    configuration.durability = .normal
    // One more, which runs jobs.
    let options = PostgresOptions(schema: "queue\(server.uniqueNumber())", maxConnections: count + 1)
    let location = DurableQueue.Location.postgres(server.url(), options)
    queue = try DurableQueue(location: location, configuration: configuration)
    listeners = try (0..<2).map { _ in try DurableQueue(location: location, configuration: configuration) }
    for queue in [queue] + listeners { try queue.register(Letter.self) { _, _ in emptyOperation() } }
    // They look what there is each time they hear of something, and take nothing.
    try queue.pause(kind: Letter.kind)
    for queue in [queue] + listeners { queue.start() }
    let schema = "peer\(server.uniqueNumber())"
    try DurableQueue(location: .postgres(server.url(), PostgresOptions(schema: schema))).register(Letter.self) { _, _ in
      emptyOperation()
    }
    peers = (0..<count).map { _ in PostgresPeer(url: server.url(), schema: schema, isDurable: false) }
    payload = Array(try JSONEncoder().encode(Letter()))
  }

  func enqueue(_ count: Int) {
    onThreads(peers.count) { [queue, peers] _ in
      do {
        for _ in 0..<count / peers.count { try queue.enqueue(Letter()) }
      } catch { preconditionFailure("\(error)") }
    }
  }

  func enqueueAtPeer(_ count: Int) {
    onThreads(peers.count) { [peers, payload] number in
      peers[number].enqueue(count / peers.count, payload: payload, inBatchesOf: 1)
    }
  }
}
#endif
