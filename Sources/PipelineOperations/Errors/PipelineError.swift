public import Foundation

/// A step could not be inserted into a pipeline by name: why.
///
/// Switch on ``code``; ``description`` is a sentence that names the step, the cause and the remedy.
public struct PipelineError: Error, Sendable, Equatable {
  /// What was wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The step does not fit: values of another type flow at this place than it takes or gives. The
    /// description names the types.
    public static let typeMismatch = Code(value: .typeMismatch)
    /// The pipeline has no step of this name; see ``Pipeline/stepNames``.
    public static let stepNotFound = Code(value: .stepNotFound)
    /// Several steps of the pipeline have this name; see ``Pipeline/stepNames``.
    public static let ambiguousStepName = Code(value: .ambiguousStepName)

    /// The code in a word, such as `stepNotFound`.
    public var description: String { value.rawValue }

    enum Value: String {
      case typeMismatch, stepNotFound, ambiguousStepName
    }

    let value: Value
  }

  /// What the library itself switches on, without a `default`.
  enum Reason: Equatable {
    /// Types as text, and the place in words, such as `before “decode”`.
    case typeMismatch(takes: String, gives: String, flows: String, place: String)
    case stepNotFound(stepNames: [String])
    case ambiguousStepName(indices: [Int])
  }

  private let reason: Reason
  /// The name of the step to insert, of ``Code/typeMismatch``; for other codes the name to insert
  /// it at.
  public let stepName: String

  init(_ reason: Reason, stepName: String) {
    self.reason = reason
    self.stepName = stepName
  }

  /// What was wrong, to switch on.
  public var code: Code {
    switch reason {
    case .typeMismatch: .typeMismatch
    case .stepNotFound: .stepNotFound
    case .ambiguousStepName: .ambiguousStepName
    }
  }
}

extension PipelineError: LocalizedError, CustomStringConvertible {
  /// The sentence: what was wrong with which step, and what to do.
  public var description: String {
    switch reason {
    case .typeMismatch(let takes, let gives, let flows, let place):
      return
        "The step “\(stepName)” takes \(takes) and gives \(gives), so it cannot be inserted \(place), where \(flows) flows. "
        + "Insert a step that takes and gives \(flows)."
    case .stepNotFound(let stepNames):
      let names = stepNames.map { "“\($0)”" }.joined(separator: ", ")
      return "The pipeline has no step “\(stepName)”; "
        + (names.isEmpty ? "it has no steps at all." : "its steps are \(names).")
        + " Name the step with named(_:), or use one of the names in stepNames."
    case .ambiguousStepName(let indices):
      let places = indices.map(String.init).joined(separator: ", ")
      return
        "The pipeline has \(indices.count) steps “\(stepName)”, at \(places), so the name does not say which of them is meant. "
        + "Give each a name of its own with named(_:)."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
