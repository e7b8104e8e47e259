import CompositeOperations
public import Foundation

/// The error of a pipeline: which step failed, and why.
///
/// The description also tells which steps failed inside of that one, where it is a pipeline itself.
public struct PipelineStepError: Error, Sendable {
  /// The name of the pipeline, if it has one.
  public let pipelineName: String?
  /// The name of the step.
  public let stepName: String
  /// The place of the step, from 0.
  public let stepIndex: Int
  private let nested: NestedErrors<any Error>

  /// What the step failed with. Of a step that is a pipeline, the error of that.
  private var error: any Error { nested.contents }

  init(pipelineName: String?, stepName: String, stepIndex: Int, error: any Error) {
    self.pipelineName = pipelineName
    self.stepName = stepName
    self.stepIndex = stepIndex
    nested = NestedErrors(error)
  }

  /// What the step failed with. Where the step is a pipeline, what the step inside of that failed
  /// with, and so on: never a `PipelineStepError`.
  public var cause: any Error {
    var error = error
    while let inner = error as? PipelineStepError { error = inner.error }
    return error
  }
}

extension PipelineStepError: ErrorWithCauses {
  package var causes: [any Error] { [error] }
}

extension PipelineStepError: ErrorWithReport {
  /// How many pipelines in pipelines are named: fewer, if the text becomes longer than the cause
  /// may be.
  private static let maxDepth = 40

  /// The pipelines share the headline with what began it all: each has but one cause.
  package var report: ErrorReport {
    var text = ""
    var (depth, named) = (0, 0)
    var error: any Error = self
    while let failure = error as? PipelineStepError {
      if named == depth, named < PipelineStepError.maxDepth, text.utf8.count < ErrorReport.maxCauseLength {
        text += failure.headline
        named += 1
      }
      depth += 1
      error = failure.error
    }
    if depth > named { text += "… \(depth - named) further in: " }
    guard var report = (error as? any ErrorWithReport)?.report else {
      return ErrorReport(headline: text + ErrorReport.sentence(of: error), items: [])
    }
    report.headline = text + (report.subject.map { "\($0): " } ?? "") + report.headline
    report.subject = nil
    return report
  }

  private var headline: String {
    let pipeline = pipelineName.map { "the pipeline \(ErrorReport.quoted($0))" } ?? "a pipeline"
    return "Step \(stepIndex) \(ErrorReport.quoted(stepName)) of \(pipeline) failed: "
  }
}

extension PipelineStepError: LocalizedError, CustomStringConvertible {
  /// The sentence: which step failed with what, through all pipelines.
  ///
  /// Where the cause has failures of its own, they stand below it. At most about 16 KB.
  public var description: String { ErrorReport.text(of: self) }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
