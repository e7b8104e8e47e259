import CompositeOperations
import OperationTimelines

extension Workflow {
  /// Draws the tasks and their states in the DOT language of Graphviz.
  ///
  /// Conditions are hexagons; a subworkflow is a box around its tasks. The colour shows the state. An edge has the key of
  /// the prerequisite, if it has one. Of workflows that are nested more than 24 deep, the innermost are left out.
  public func dot() -> String {
    GraphDescription(self).dot()
  }
}
