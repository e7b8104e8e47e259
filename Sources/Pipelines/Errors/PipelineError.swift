public import Foundation

/// Why a step could not be inserted into a pipeline by name.
public enum PipelineError: Error, Sendable, Equatable {
  /// The step does not fit: what flows at this place is of another type than what it takes or gives.
  ///
  /// - Parameters:
  ///   - stepName: the name of the step that was to be inserted.
  ///   - takes: the type that it takes, as text.
  ///   - gives: the type that it gives, as text.
  ///   - flows: the type that flows at the place, as text, which both would have to be.
  ///   - place: where the place is, in words: `before “decode”`.
  case typeMismatch(stepName: String, takes: String, gives: String, flows: String, place: String)
  /// There is no step of this name.
  ///
  /// - Parameters:
  ///   - name: the name that was looked for.
  ///   - stepNames: the names of the steps that there are.
  case stepNotFound(name: String, stepNames: [String])
  /// Several steps have this name.
  ///
  /// - Parameters:
  ///   - name: the name that was looked for.
  ///   - indices: the places of the steps that have it, from 0.
  case ambiguousStepName(name: String, indices: [Int])
}

extension PipelineError: LocalizedError, CustomStringConvertible {
  /// The sentence: what was wrong with which step, and what to do.
  public var description: String {
    switch self {
    case .typeMismatch(let stepName, let takes, let gives, let flows, let place):
      return
        "The step “\(stepName)” takes \(takes) and gives \(gives), so it can not be inserted \(place), where \(flows) "
        + "flows. Insert a step that takes and gives \(flows)."
    case .stepNotFound(let name, let stepNames):
      let names = stepNames.map { "“\($0)”" }.joined(separator: ", ")
      return "The pipeline has no step “\(name)”; "
        + (names.isEmpty ? "it has no steps at all." : "its steps are \(names).")
        + " Name the step with named(_:), or use one of the names in stepNames."
    case .ambiguousStepName(let name, let indices):
      let places = indices.map(String.init).joined(separator: ", ")
      return
        "The pipeline has \(indices.count) steps “\(name)”, at \(places), so it is not known which is meant. Give each "
        + "a name of its own with named(_:)."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
