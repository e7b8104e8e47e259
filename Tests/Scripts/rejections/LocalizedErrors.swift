// compiles
// Errors give their sentence also to code outside of the package that asks for a localized one.
import CompositeOperations
import DurableOperations
import Foundation
import OperationTimelines
import WorkflowOperations

func sentence(_ error: some LocalizedError & CustomStringConvertible) -> String {
  error.errorDescription ?? error.description
}

func sentences(_ composite: CompositeError, _ retry: RetryError, _ timeout: OperationTimeout) -> [String] {
  [sentence(composite), sentence(retry), sentence(timeout), composite.localizedDescription, retry.description]
}

func sentences(_ job: JobError, _ workflow: WorkflowError, _ timeline: TimelineReadError) -> [String] {
  [sentence(job), sentence(workflow), sentence(timeline), workflow.description, job.localizedDescription]
}
