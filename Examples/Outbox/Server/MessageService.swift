import ExampleSupport
import Foundation

/// The state and the answers of the bundled server: a value that changes with each request.
struct MessageService: Sendable {
  /// An arrival in the log: a line of JSON for each request that was stored or recognized.
  struct Arrival: Codable, Equatable, Sendable {
    var id: String
    var name: String
    /// `messages` or `digests`.
    var folder: String
    var bytes: Int
    var checksum: String
    /// Whether the server had a message with this id already.
    var isDuplicate: Bool
  }

  /// The numbers of arrivals.
  struct Tally: Codable, Equatable, Sendable {
    /// Different messages.
    var accepted = 0
    /// How often a message arrived again.
    var duplicates = 0
  }

  /// What happens to a request instead of an immediate answer.
  enum Trouble: CaseIterable, Sendable {
    case fails, isBusy, isDroppedBefore, isDroppedAfter, isSlow
  }

  private var checksums: [String: String] = [:]
  private(set) var tally = Tally()
  private let failure: Double
  private var random: SplitMix

  /// - Parameters:
  ///   - failure: the share of messages that get trouble.
  ///   - seed: decides which.
  ///   - arrivals: the earlier arrivals.
  init(failure: Double, seed: UInt64, arrivals: [Arrival] = []) {
    self.failure = failure
    random = SplitMix(seed: seed)
    for arrival in arrivals { note(arrival) }
  }

  private mutating func note(_ arrival: Arrival) {
    if checksums[arrival.id] == nil { checksums[arrival.id] = arrival.checksum }
    guard arrival.folder == "messages" else { return }
    if arrival.isDuplicate { tally.duplicates += 1 } else { tally.accepted += 1 }
  }

  /// Answers a request. Writes an arrival before it returns the answer.
  mutating func answer(_ request: ServerRequest, write: (Arrival) throws -> Void) -> ServerAnswer {
    let folder = String(request.path.dropFirst())
    guard ["messages", "digests"].contains(folder) else {
      return .problem(404, "There is no \(request.path) here. Post to /messages or /digests.")
    }
    if request.method == "GET" { return .json(tally) }
    guard request.method == "POST" else {
      return .problem(405, "Use POST for \(request.path).", headers: ["Allow": "GET, POST"])
    }
    guard let id = request.headers["idempotency-key"], !id.isEmpty else {
      return .problem(400, "A message needs the header field Idempotency-Key.")
    }
    let trouble = nextTrouble()
    switch trouble {
    case .fails: return .problem(500, "Something went wrong.")
    case .isBusy: return .problem(503, "Too many messages come at the moment.", headers: ["Retry-After": "1"])
    case .isDroppedBefore: return .dropped
    case .isDroppedAfter, .isSlow, nil: break
    }
    let name = request.headers["message-name"].flatMap { $0.removingPercentEncoding } ?? id
    let arrival = Arrival(
      id: id, name: name, folder: folder, bytes: request.body.count, checksum: SHA256.hex(of: request.body),
      isDuplicate: checksums[id] != nil)
    if let known = checksums[id], known != arrival.checksum {
      return .problem(409, "The id \(id) belongs to another message.")
    }
    do {
      try write(arrival)
    } catch {
      return .problem(500, "The message cannot be stored: \(error)")
    }
    note(arrival)
    let receipt = Sender.Receipt(id: id, isDuplicate: arrival.isDuplicate)
    var answer = ServerAnswer.json(receipt, status: arrival.isDuplicate ? 200 : 201)
    if trouble == .isDroppedAfter { answer = .dropped }
    if trouble == .isSlow { answer.delay = Double.random(in: 0.2...1, using: &random) }
    return answer
  }

  private mutating func nextTrouble() -> Trouble? {
    let isTrouble = Double.random(in: 0..<1, using: &random) < failure
    let trouble = Trouble.allCases.randomElement(using: &random)
    return isTrouble ? trouble : nil
  }
}

extension ServerAnswer {
  /// No answer: the connection ends.
  fileprivate static var dropped: ServerAnswer {
    var answer = ServerAnswer(status: 200)
    answer.isDropped = true
    return answer
  }
}
