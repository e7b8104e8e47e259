public import Foundation

/// Why a snapshot could not be made or restored.
public struct WorkflowSnapshotError: Error, Sendable {
  /// What was wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The workflow is running.
    public static let workflowIsRunning = Code(value: .workflowIsRunning)
    /// A result could not be encoded.
    public static let notEncodable = Code(value: .notEncodable)
    /// A stored result could not be decoded, is not that of a task of this kind, or may be that of
    /// another task without a name.
    public static let notDecodable = Code(value: .notDecodable)

    /// The code in a word, such as `workflowIsRunning`.
    public var description: String { value.rawValue }

    /// What the library itself switches on, without a `default`.
    enum Value: String {
      case workflowIsRunning, notEncodable, notDecodable
    }

    let value: Value
  }

  /// What was wrong, to switch on.
  public let code: Code
  /// The name of the task, or of the workflow, in question.
  public let name: String
  /// The error of the encoder or decoder, if there was one.
  public let cause: (any Error)?
  let detail: String

  init(_ code: Code, name: String, detail: String = "", cause: (any Error)? = nil) {
    self.code = code
    self.name = name
    self.detail = detail
    self.cause = cause
  }

  static func notDecodable(_ type: Any.Type) -> WorkflowSnapshotError {
    WorkflowSnapshotError(.notDecodable, name: "", detail: "results of the type \(type) are not Decodable")
  }
}

extension WorkflowSnapshotError: LocalizedError, CustomStringConvertible {
  /// What is wrong with which task, and what to do.
  public var description: String {
    let reason = detail.isEmpty ? cause.map { "\($0)" } ?? "" : detail
    return switch code.value {
    case .workflowIsRunning:
      "The workflow “\(name)” is running, so nothing can be restored into it. Restore before you start it."
    case .notEncodable:
      "The result of the task “\(name)” cannot be encoded: \(reason). Correct its encoding, or make its type not Encodable, "
        + "so that the task runs again."
    case .notDecodable:
      "The stored result of the task “\(name)” cannot be restored: \(reason). Run without this snapshot, or give the task "
        + "another name."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
