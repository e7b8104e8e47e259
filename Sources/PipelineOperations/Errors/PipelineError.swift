public import Foundation

/// Why a step could not be inserted into a pipeline by name.
///
/// Switch on ``code``; ``description`` is a sentence that names the step, the cause and the remedy.
public struct PipelineError: Error, Sendable, Equatable {
  /// What was wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The step does not fit: what flows at this place is of another type than what it takes or
    /// gives. See ``PipelineError/mismatch``.
    public static let typeMismatch = Code(value: .typeMismatch)
    /// There is no step of this name. ``PipelineError/stepNames`` are the names of the steps that
    /// there are.
    public static let stepNotFound = Code(value: .stepNotFound)
    /// Several steps have this name. ``PipelineError/indices`` are their places.
    public static let ambiguousStepName = Code(value: .ambiguousStepName)

    /// The code in a word, such as `stepNotFound`.
    public var description: String { value.rawValue }

    enum Value: String {
      case typeMismatch, stepNotFound, ambiguousStepName
    }

    let value: Value
  }

  /// How a step does not fit at its place. All types are texts.
  public struct Mismatch: Sendable, Equatable {
    /// The type that the step takes.
    public let takes: String
    /// The type that the step gives.
    public let gives: String
    /// The type that flows at the place, which both would have to be.
    public let flows: String
    /// Where the place is, in words: `before “decode”`.
    public let place: String
  }

  /// What the library itself switches on, without a `default`.
  enum Reason: Equatable {
    case typeMismatch(Mismatch)
    case stepNotFound(stepNames: [String])
    case ambiguousStepName(indices: [Int])
  }

  let reason: Reason
  /// The name of the step that was to be inserted, of ``Code/typeMismatch``; for other codes the
  /// name that was looked for.
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

  /// How the step does not fit, of ``Code/typeMismatch``; nil for other codes.
  public var mismatch: Mismatch? {
    if case .typeMismatch(let mismatch) = reason { mismatch } else { nil }
  }

  /// The names of the steps that there are, of ``Code/stepNotFound``; empty for other codes.
  public var stepNames: [String] {
    if case .stepNotFound(let names) = reason { names } else { [] }
  }

  /// The places of the steps that have the name, from 0, of ``Code/ambiguousStepName``; empty for
  /// other codes.
  public var indices: [Int] {
    if case .ambiguousStepName(let indices) = reason { indices } else { [] }
  }
}

extension PipelineError: LocalizedError, CustomStringConvertible {
  /// The sentence: what was wrong with which step, and what to do.
  public var description: String {
    switch reason {
    case .typeMismatch(let mismatch):
      return
        "The step “\(stepName)” takes \(mismatch.takes) and gives \(mismatch.gives), so it can not be inserted "
        + "\(mismatch.place), where \(mismatch.flows) flows. Insert a step that takes and gives \(mismatch.flows)."
    case .stepNotFound(let stepNames):
      let names = stepNames.map { "“\($0)”" }.joined(separator: ", ")
      return "The pipeline has no step “\(stepName)”; "
        + (names.isEmpty ? "it has no steps at all." : "its steps are \(names).")
        + " Name the step with named(_:), or use one of the names in stepNames."
    case .ambiguousStepName(let indices):
      let places = indices.map(String.init).joined(separator: ", ")
      return
        "The pipeline has \(indices.count) steps “\(stepName)”, at \(places), so it is not known which is meant. Give each "
        + "a name of its own with named(_:)."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
