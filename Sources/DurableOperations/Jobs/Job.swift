import CompositeOperations
import Foundation

/// A unit of work as it is stored: a value with everything that the work needs.
///
/// ```swift
/// struct SendEmail: Job {
///   static let kind = "send-email"
///   var to: String
///   var text: String
/// }
/// ```
///
/// The queue stores the value as JSON. The closure that `DurableQueue.register` takes says what the
/// job does.
public protocol Job: Codable, Sendable {
  /// The name of this type in the database. Keep it when you rename the type.
  static var kind: String { get }
  /// The version of the type's stored form, 1 by default. Raise it when older stored values no
  /// longer decode, and register the type with an `upgrade` closure.
  static var version: Int { get }
}

extension Job {
  /// The default version, 1.
  public static var version: Int { 1 }
}

/// The number of a job in its database. No two stored jobs have one number; that of a transaction
/// that was rolled back may be used again. A job that replaces another by its ``UniqueKey`` keeps
/// the other's number.
public struct JobID: Sendable, Hashable, Comparable, Codable, RawRepresentable, CustomStringConvertible {
  /// The number, from 1.
  public let rawValue: Int64

  /// Makes the number of a job.
  public init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// Returns a reference to a job of the same call, by its position in the call, from 0: for
  /// `dependsOn`.
  ///
  /// ```swift
  /// try queue.enqueue(contentsOf: [
  ///   JobRequest(Download(url)),
  ///   JobRequest(Unpack(url), options: JobOptions(dependsOn: [.inSameCall(0)])),
  /// ])
  /// ```
  public static func inSameCall(_ position: Int) -> JobID {
    require(
      position >= 0,
      "JobID.inSameCall got the position \(position). Positions count from 0, the first job of the call.")
    return JobID(rawValue: -1 - Int64(position))
  }

  /// The position, if this refers to a job of the same call.
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
