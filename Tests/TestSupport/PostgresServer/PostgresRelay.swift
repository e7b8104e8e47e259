#if os(Linux) || os(macOS)
import Foundation

/// The connections of a proxy.
final class PostgresRelay: Sendable {
  typealias Side = PostgresProxy.Side

  struct PlannedCut {
    let side: Side
    var left: Int
    let how: PostgresProxy.Cut
    let isRefusing: Bool
  }

  struct State {
    var cut: PlannedCut?
    /// The words of the statement after which the client is held.
    var words: [UInt8]?
    var taken: [Side: Int] = [:]
    var messageEnds: [Side: [Int]] = [:]
    /// How often the server was ready for the next query.
    var roundTrips = 0
    /// The numbers of the held connections.
    var held: Set<Int> = []
    var random: (generator: SeededRandomNumberGenerator, mean: Int)?
    var cuts = 0
    var lastCutOfAll = 0
    var isSilent = false
    var isRefusing = false
    var isOver = false
    var lastConnection = 0

    mutating func countAnew() { (taken, messageEnds, roundTrips) = ([:], [:], 0) }

    mutating func randomCount() -> Int? {
      guard let mean = random?.mean else { return nil }
      return random?.generator.number(0...2 * mean)
    }
  }

  let state = Locked(State())
  private let serverPort: UInt16

  init(to port: UInt16) {
    serverPort = port
  }

  func end() { state.withLock { $0.isOver = true } }

  /// Takes connections until the end.
  func accept(_ descriptor: Int32) {
    defer { HTTPSocket.closeDescriptor(descriptor) }
    while !state.withLock({ $0.isOver }) {
      var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&file, 1, 50) > 0, let client = HTTPSocket.accept(descriptor) else { continue }
      guard !state.withLock({ $0.isRefusing }), let server = try? HTTPSocket.connect(to: serverPort) else {
        HTTPSocket.closeDescriptor(client)
        continue
      }
      let thread = Thread { [self] in
        var connection = PostgresRelayed(client: client, server: server, in: state)
        connection.passAll()
      }
      thread.stackSize = 256 * 1024
      thread.start()
    }
  }
}

/// One connection of a proxy. Used by its thread alone.
struct PostgresRelayed {
  typealias Side = PostgresProxy.Side

  private enum End { case closed, serverIsLeft }

  private let number: Int
  private let client: Int32
  private let server: Int32
  private let state: Locked<PostgresRelay.State>
  private let cutOfAll: Int
  private var messages: [Side: PostgresMessages] = [
    .fromClient: PostgresMessages(isClient: true), .fromServer: PostgresMessages(),
  ]
  /// The bytes that were read and have not passed yet.
  private var pending: [Side: [UInt8]] = [.fromClient: [], .fromServer: []]
  /// How many bytes pass until the random cut.
  private var random: [Side: Int] = [:]
  /// Whether the statement after which it is held has begun.
  private var isArmed = false
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  init(client: Int32, server: Int32, in state: Locked<PostgresRelay.State>) {
    (self.client, self.server, self.state) = (client, server, state)
    (number, cutOfAll, random) = state.withLock { state in
      state.lastConnection += 1
      var random: [Side: Int] = [:]
      for side in Side.allCases { random[side] = state.randomCount() }
      return (state.lastConnection, state.lastCutOfAll, random)
    }
  }

  /// Passes data on until one end closes or the connection is cut.
  mutating func passAll() {
    let end = passUntilEnd()
    HTTPSocket.closeDescriptor(client)
    if case .serverIsLeft = end {
      // The server notices nothing as long as there is a proxy.
      while !state.withLock({ $0.isOver }) { poll(nil, 0, 50) }
    }
    HTTPSocket.closeDescriptor(server)
  }

  private mutating func passUntilEnd() -> End {
    while true {
      let (isOver, isHeld) = state.withLock { state in
        (state.isOver || state.lastCutOfAll != cutOfAll, state.isSilent || state.held.contains(number))
      }
      if isOver { return .closed }
      if isHeld {
        poll(nil, 0, 5)
        continue
      }
      var hasEnded = false
      for side in Side.allCases where pending[side]?.isEmpty == true {
        switch HTTPSocket.read(side == .fromClient ? client : server, into: &buffer) {
        case .wouldBlock: break
        case .ended: hasEnded = true
        case .bytes(let count): pending[side] = Array(buffer[..<count])
        }
      }
      var hasPassed = false
      for side in Side.allCases {
        guard let bytes = pending[side], !bytes.isEmpty else { continue }
        hasPassed = true
        let (passing, cut) = take(bytes, side)
        guard write(bytes[..<passing], to: side == .fromClient ? server : client) else { return .closed }
        pending[side] = Array(bytes[passing...])
        switch cut {
        case .closes: return .closed
        case .leavesServer: return .serverIsLeft
        case .holds, nil: break
        }
      }
      if hasPassed { continue }
      if hasEnded { return .closed }
      var files = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      _ = poll(&files, 2, 50)
    }
  }

  /// How many of some bytes pass, and what happens then.
  private mutating func take(_ bytes: [UInt8], _ side: Side) -> (count: Int, PostgresProxy.Cut?) {
    state.withLock { state in
      var (passing, cut): (Int, PostgresProxy.Cut?) = (bytes.count, nil)
      // The hold after a statement is checked first: everything else comes after it.
      if side == .fromClient, let words = state.words {
        var ahead = messages[side] ?? PostgresMessages()
        var position = 0
        for message in ahead.take(bytes[...]) {
          position = message.end
          if message.isStatement, message.contains(words) { isArmed = true }
          guard isArmed, message.isExecution else { continue }
          (isArmed, state.words) = (false, nil)
          state.held.insert(number)
          passing = position
          break
        }
      }
      if let planned = state.cut, planned.side == side {
        let count = min(passing, planned.left)
        state.cut?.left -= count
        if planned.left <= passing {
          (passing, cut) = (count, planned.how)
          state.cut = nil
          if planned.isRefusing { state.isRefusing = true }
        }
      }
      if state.random != nil {
        let left = random[side] ?? state.randomCount() ?? passing
        if left <= passing { (passing, cut) = (left, .closes) }
        random[side] = left - passing
      }
      for message in messages[side]?.take(bytes[..<passing]) ?? [] {
        state.messageEnds[side, default: []].append((state.taken[side] ?? 0) + message.end)
        if side == .fromServer, message.isReadiness { state.roundTrips += 1 }
      }
      state.taken[side, default: 0] += passing
      switch cut {
      case .holds: state.held.insert(number)
      case .closes, .leavesServer: state.cuts += 1
      case nil: break
      }
      return (passing, cut)
    }
  }

  /// False if the other end is closed.
  private func write(_ bytes: ArraySlice<UInt8>, to target: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      switch HTTPSocket.write(target, rest) {
      case .bytes(let written): rest = rest.dropFirst(written)
      case .ended: return false
      case .wouldBlock:
        var file = pollfd(fd: target, events: Int16(POLLOUT), revents: 0)
        _ = poll(&file, 1, 50)
        if state.withLock({ $0.isOver }) { return false }
      }
    }
    return true
  }
}
#endif
