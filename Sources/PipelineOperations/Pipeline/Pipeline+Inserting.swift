import CompositeOperations

extension Pipeline {
  /// This pipeline with one more step before the step of this name.
  ///
  /// ```swift
  /// let log = Tee { (data: Data) in print(data.count) }
  /// let checked = try forecast.inserting(log, before: "DecodeJSON")
  /// ```
  ///
  /// The types are checked when this is called: the step has to take and to give what flows at this
  /// place. A closure has to name its type, which the compiler cannot know here.
  ///
  /// - Parameters:
  ///   - step: the step.
  ///   - name: the name of the step after the new one; see ``stepNames``.
  /// - Throws: ``PipelineError`` if no step has the name, or several have it, or the types do not
  ///   fit.
  public func inserting(_ step: some PipelineStep, before name: String) throws -> Pipeline {
    try inserting(step, at: index(of: name), place: "before “\(name)”")
  }

  /// This pipeline with one more step after the step of this name.
  ///
  /// The types are checked when this is called: the step has to take and to give what flows at this
  /// place.
  ///
  /// - Parameters:
  ///   - step: the step.
  ///   - name: the name of the step before the new one; see ``stepNames``.
  /// - Throws: ``PipelineError`` if no step has the name, or several have it, or the types do not
  ///   fit.
  public func inserting(_ step: some PipelineStep, after name: String) throws -> Pipeline {
    try inserting(step, at: index(of: name) + 1, place: "after “\(name)”")
  }

  private func index(of name: String) throws -> Int {
    let names = stepNames
    let indices = names.indices.filter { names[$0] == name }
    guard let index = indices.first else { throw PipelineError(.stepNotFound(stepNames: names), stepName: name) }
    guard indices.count == 1 else { throw PipelineError(.ambiguousStepName(indices: indices), stepName: name) }
    return index
  }

  private func inserting<Step: PipelineStep>(_ step: Step, at index: Int, place: String) throws -> Pipeline {
    var steps = steps.map { $0 }
    let flowing: any Sendable.Type = index < steps.count ? steps[index].input : Output.self
    guard Step.Input.self == flowing, Step.Output.self == flowing else {
      throw PipelineError(
        .typeMismatch(takes: "\(Step.Input.self)", gives: "\(Step.Output.self)", flows: "\(flowing)", place: place),
        stepName: step.stepName)
    }
    steps.insert(StepBox(step), at: index)
    return Pipeline(steps: StepList(steps), name: name)
  }
}
