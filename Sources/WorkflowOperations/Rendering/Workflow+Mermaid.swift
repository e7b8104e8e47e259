import CompositeOperations
import OperationTimelines

extension Workflow {
  /// Draws the tasks and their states as a Mermaid flow chart, which many Markdown viewers show.
  ///
  /// Conditions are hexagons; a subworkflow is a box around its tasks. The colour shows the state. An edge has the key of
  /// the prerequisite, if it has one. Of workflows that are nested more than 24 deep, the innermost are left out.
  public func mermaid() -> String {
    GraphDescription(self).mermaid()
  }
}
