import CompositeOperations
import Foundation

/// What is to be done, as it is stored: a value with everything that the work needs.
///
/// ```swift
/// struct SendEmail: Job {
///   static let kind = "send-email"
///   var to: String
///   var text: String
/// }
/// ```
///
/// The value is stored as JSON. What it does when it runs is said where it is registered, with
/// `DurableQueue.register`.
public protocol Job: Codable, Sendable {
  /// What tells jobs of this type from others in the database. Keep it when the type is renamed.
  static var kind: String { get }
  /// The version of the type's stored form, 1 unless you say so. Raise it when older stored values do not decode any
  /// more, and give an `upgrade` closure where the type is registered.
  static var version: Int { get }
}

extension Job {
  /// 1.
  public static var version: Int { 1 }
}

/// The number of a job in its database. A number is never given twice; a job that takes the place of another by its
/// ``UniqueKey`` takes its number too.
public struct JobID: Sendable, Hashable, Comparable, Codable, RawRepresentable, CustomStringConvertible {
  /// The number, from 1.
  public let rawValue: Int64

  /// A job by its number.
  public init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// A job that is enqueued in the same call, by its position among them, from 0: for `dependsOn`.
  ///
  /// ```swift
  /// try queue.enqueue(contentsOf: [
  ///   JobRequest(Download(url)),
  ///   JobRequest(Unpack(url), options: JobOptions(dependsOn: [.inSameCall(0)])),
  /// ])
  /// ```
  public static func inSameCall(_ position: Int) -> JobID {
    JobID(rawValue: -1 - Int64(position))
  }

  /// The position, if the job is one of the same call.
  var position: Int? { rawValue < 0 ? Int(-1 - rawValue) : nil }

  /// Whether one job was enqueued before another.
  public static func < (left: JobID, right: JobID) -> Bool { left.rawValue < right.rawValue }

  /// The number with a sign before it: `#7`.
  public var description: String {
    position.map { "number \($0) of the same call" } ?? "#\(rawValue)"
  }

  /// Decodes the bare number.
  public init(from decoder: any Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(Int64.self)
  }

  /// Encodes the bare number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

func requireKind<J: Job>(of type: J.Type) {
  require(!J.kind.isEmpty, "The job type \(J.self) has an empty kind. Give its `kind` a name.")
}
