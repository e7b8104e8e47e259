import CompositeOperations
import DurableOperations
import ExampleSupport
import Foundation

/// A message to send: the name and the content of a file.
struct Message: Job {
  static let kind = "message"

  /// How many bytes the content may have.
  static let largestContent = 1_000_000

  var name: String
  var content: Data
  /// The SHA-256 of the content in hexadecimal.
  var checksum: String

  init(name: String, content: Data) {
    self.name = name
    self.content = content
    checksum = SHA256.hex(of: content)
  }

  /// A message may run any number of times, but is stored once: not even a sent message may be
  /// stored again.
  var options: JobOptions {
    JobOptions(
      maxAttempts: nil, backoff: .exponential(from: .milliseconds(200), maxDelay: .seconds(30)),
      requiresNetwork: true,
      uniqueKey: UniqueKey("\(name) \(checksum.prefix(16))", by: Set(JobState.allCases)))
  }
}

/// A digest of messages: how long each of them is. It runs after they are sent.
struct Digest: Job {
  static let kind = "digest"

  var messages: [JobID]

  /// A message that cannot be sent does not stop the digest.
  var options: JobOptions {
    JobOptions(
      maxAttempts: nil, backoff: .exponential(from: .milliseconds(200), maxDelay: .seconds(30)), requiresNetwork: true,
      uniqueKey: UniqueKey(String(checksum.prefix(16)), by: Set(JobState.allCases)), dependsOn: messages,
      whenPrerequisiteFails: .run)
  }

  /// The same for the same messages.
  var checksum: String {
    SHA256.hex(of: messages.map { "\($0.rawValue)" }.joined(separator: " ").utf8)
  }
}
