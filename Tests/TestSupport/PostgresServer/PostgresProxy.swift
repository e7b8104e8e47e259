#if os(Linux) || os(macOS)
import Foundation

/// A proxy between clients and a server on 127.0.0.1 that disturbs their traffic: at a byte, after
/// a statement, at random, or for a while.
public final class PostgresProxy: Sendable {
  /// Which bytes are counted.
  public enum Side: Int, Sendable, CaseIterable {
    case fromClient, fromServer
  }

  /// What happens at the place of a cut.
  public enum Cut: Sendable {
    /// Both ends are closed.
    case closes
    /// The client's end is closed. The server does not notice, and waits for the rest.
    case leavesServer
    /// Nothing passes in either direction, as if the client were stopped or the network were down,
    /// until ``PostgresProxy/letPass()``.
    case holds
  }

  /// Where clients connect to.
  public let port: UInt16
  private let descriptor: Int32
  let relay: PostgresRelay

  /// Starts a proxy.
  public init(to port: Int) throws {
    (descriptor, self.port) = try HTTPSocket.listen()
    // The system would keep tens of megabytes of unread data, sent before a cut is noticed.
    HTTPSocket.limitUnread(descriptor, to: 262_144)
    relay = PostgresRelay(to: UInt16(port))
    let (descriptor, relay) = (descriptor, relay)
    Thread.detachNewThread { relay.accept(descriptor) }
  }

  deinit {
    // The threads close the sockets.
    relay.end()
  }

  // MARK: - At a place

  /// Lets `count` more bytes pass, and then cuts the connection. Also resets the counts.
  ///
  /// - Parameter refusing: whether new connections are refused from then on.
  public func cut(_ side: Side, after count: Int, by cut: Cut = .closes, refusing isRefusing: Bool = false) {
    relay.state.withLock {
      $0.cut = PostgresRelay.PlannedCut(side: side, left: count, how: cut, isRefusing: isRefusing)
      $0.countAnew()
    }
  }

  /// Holds a client's data after the next statement whose name or text contains these words: the
  /// server has run it, and waits for the rest of the transaction.
  public func hold(behind words: String) {
    relay.state.withLock { $0.words = Array(words.utf8) }
  }

  /// Cuts nothing, passes on what is held, and resets the counts.
  public func letPass() {
    relay.state.withLock {
      ($0.cut, $0.words, $0.isSilent, $0.isRefusing) = (nil, nil, false, false)
      $0.held = []
      $0.countAnew()
    }
  }

  /// How many bytes have passed since the last reset.
  public func count(_ side: Side) -> Int { relay.state.withLock { $0.taken[side] ?? 0 } }

  /// The byte counts at which messages have ended since the last reset.
  public func messageEnds(_ side: Side) -> [Int] { relay.state.withLock { $0.messageEnds[side] ?? [] } }

  /// How often the server has answered everything since the last reset.
  public var roundTrips: Int { relay.state.withLock { $0.roundTrips } }

  /// Whether a connection is held.
  public var isHolding: Bool { relay.state.withLock { !$0.held.isEmpty } }

  // MARK: - For a while

  /// Lets nothing pass, neither from clients that are connected nor from new ones. What comes
  /// meanwhile passes later.
  public func setSilent(_ isSilent: Bool) { relay.state.withLock { $0.isSilent = isSilent } }

  /// Refuses new connections.
  public func setRefusing(_ isRefusing: Bool) { relay.state.withLock { $0.isRefusing = isRefusing } }

  /// Cuts all connections.
  public func cutAll() { relay.state.withLock { $0.lastCutOfAll += 1 } }

  // MARK: - At random

  /// Cuts each connection, in each direction, after a random number of bytes, and also later
  /// connections.
  ///
  /// - Parameter mean: after how many bytes, on average.
  public func cutAtRandom(seed: UInt64, every mean: Int) {
    relay.state.withLock { $0.random = (SeededRandomNumberGenerator(seed: seed), mean) }
  }

  /// Ends the random cuts.
  public func endRandomCuts() { relay.state.withLock { $0.random = nil } }

  /// How many connections were cut, in all.
  public var cuts: Int { relay.state.withLock { $0.cuts } }
}
#endif
