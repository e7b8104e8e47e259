import CompositeOperations
import DurableOperations
import ExampleSupport
import Foundation
import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends messages to a server: makes an operation for each attempt.
struct Sender: Sendable {
  let server: URL
  let session: URLSession
  /// The minimum time of a step.
  let pace: Duration
  /// The maximum time of a request, without the pause before it.
  var requestTime = Duration.seconds(60)

  init(_ options: RunOptions) {
    server = options.server
    pace = options.pace
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = options.width + 1
    configuration.timeoutIntervalForRequest = 30
    session = URLSession(configuration: configuration)
  }

  /// The server's answer to a message.
  struct Receipt: Codable, Equatable, Sendable {
    var id: String
    /// Whether the server had the message already.
    var isDuplicate: Bool
  }

  /// Sends a message, and reports the result.
  func operation(sending message: Message, _ context: JobContext) -> SimpleOperation<Void> {
    let label = "\(context.id) \(Wording.plain(message.name))"
    return post(message.content, name: message.name, key: context.idempotencyKey, to: "messages").map { receipt in
      OutboxCommand.tell("\(label)  \(receipt.isDuplicate ? "sent, the server had it already" : "sent")")
    }.recover { error -> SimpleOperation<Void> in
      throw Self.verdict(on: error, of: label)
    }
  }

  /// Posts data under a key by which the server recognizes it.
  func post(_ content: Data, name: String, key: String, to path: String) -> SimpleOperation<Receipt> {
    var request = URLRequest(url: server.appendingPathComponent(path))
    request.httpMethod = "POST"
    request.httpBody = content
    request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
    request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    let plainName = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? key
    request.setValue(plainName, forHTTPHeaderField: "Message-Name")
    // Only the request is limited: a pause may be longer than that.
    let options = HTTPOptions(totalTime: requestTime)
    return DelayOperation(pace).then { [request, session] in
      HTTPOperation(request, session: session, options: options)
    }.map { response in
      try JSONDecoder().decode(Receipt.self, from: response.body)
    }
  }

  /// The error of an attempt: it decides when the next attempt is, and whether there is one.
  static func verdict(on error: any Error, of label: String) -> any Error {
    guard let refusal = error as? HTTPStatusError else {
      OutboxCommand.tell("\(label)  failed, will be sent again: \(shortText(of: error))")
      return error
    }
    if let delay = refusal.retryAfter {
      OutboxCommand.tell("\(label)  put off, the server is busy for \(delay.components.seconds) s (\(refusal.status))")
      return JobSnooze(for: delay)
    }
    let isForGood = (400..<500).contains(refusal.status) && ![408, 425, 429].contains(refusal.status)
    OutboxCommand.tell("\(label)  \(isForGood ? "refused" : "failed, will be sent again"): status \(refusal.status)")
    return isForGood ? PermanentJobFailure(refusal) : refusal
  }

  private static func shortText(of error: any Error) -> String {
    guard let error = error as? HTTPError else { return Wording.shortened("\(error)", to: 80) }
    return switch error.code {
    case .connectionLost, .truncatedBody: "the connection was lost"
    case .connectionRefused: "no server listens there"
    case .timedOut: "no answer came in time"
    default: "\(error)"
    }
  }

  /// How many messages the server has; nil if it does not answer.
  func tally() async -> MessageService.Tally? {
    let request = URLRequest(url: server.appendingPathComponent("messages"))
    guard let answer = try? await HTTPOperation(request, session: session).run() else { return nil }
    return try? JSONDecoder().decode(MessageService.Tally.self, from: answer.body)
  }
}
