import CompositeOperations
public import Foundation

/// What a pipeline fails with: which step failed, and why.
///
/// Where a step is a pipeline itself, ``underlying`` is the error of that one; ``cause`` is what began it all.
public struct PipelineStepError: Error, Sendable {
  /// The name of the pipeline, if it has one.
  public let pipelineName: String?
  /// The name of the step.
  public let stepName: String
  /// The place of the step, from 0.
  public let stepIndex: Int
  /// What the step failed with.
  public let underlying: any Error

  /// What the innermost step failed with: the first error that is not one of these.
  public var cause: any Error {
    var error = underlying
    while let inner = error as? PipelineStepError { error = inner.underlying }
    return error
  }
}

extension PipelineStepError: ErrorWithCauses {
  package var causes: [any Error] { [underlying] }
}

extension PipelineStepError: LocalizedError, CustomStringConvertible {
  /// The sentence: which step failed with what, through all pipelines.
  public var description: String {
    var text = ""
    var error: any Error = self
    while let failure = error as? PipelineStepError {
      text += "Step \(failure.stepIndex) “\(failure.stepName)” of "
      text += failure.pipelineName.map { "the pipeline “\($0)”" } ?? "a pipeline"
      text += " failed: "
      error = failure.underlying
    }
    return text + ((error as? any LocalizedError)?.errorDescription ?? "\(error)")
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
