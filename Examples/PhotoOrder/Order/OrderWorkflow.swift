import CompositeOperations
import Foundation
import WorkflowOperations

/// The workflow of an order: a project, an upload for each photo, and the order itself.
///
/// ```
/// Create Project ────┐
///                    ├──▶ Upload Photo n ──┐
/// Photo n Available ─┘                     ├──▶ Submit Order
/// Metadata Available ──────────────────────┘
/// ```
struct OrderWorkflow: Sendable {
  let workflow: Workflow
  let photos: [ExternalCondition<Photo>]
  let metadata: ExternalCondition<Metadata>
  let receipt: WorkflowTask<Receipt>

  /// Makes the workflow, and starts nothing.
  ///
  /// - Parameters:
  ///   - title: the title of the order.
  ///   - folder: where it is put.
  ///   - photoCount: how many photos it has.
  ///   - bench: where the tasks work.
  init(title: String, folder: String, photoCount: Int, bench: Workbench) {
    workflow = Workflow("Photo Order")
    let project = workflow.add(TaskName.project) {
      FileWork(TaskName.project, at: bench, ProjectJob(title: title, folder: folder))
    }
    var photos: [ExternalCondition<Photo>] = []
    var uploads: [WorkflowTask<UploadedPhoto>] = []
    for number in 1...photoCount {
      let photo = workflow.addCondition(TaskName.photo(number), of: Photo.self)
      photos.append(photo)
      // Two typed prerequisites: the closure gets a Project and a Photo.
      uploads.append(
        workflow.add(TaskName.upload(number), after: project, photo) { project, photo in
          FileWork(TaskName.upload(number), at: bench, UploadJob(photo, to: project))
        })
    }
    self.photos = photos
    metadata = workflow.addCondition(TaskName.metadata, of: Metadata.self)
    // As many prerequisites as there are photos: one is found by its key, the others are all that
    // have none.
    receipt = workflow.add(
      TaskName.submit, keyed: ["metadata": metadata], unkeyed: uploads, requiredKeys: ["metadata"]
    ) { results in
      let receipt = Receipt(
        title: title, metadata: results["metadata"], photos: results.unkeyed.compactMap { $0 as? UploadedPhoto })
      return FileWork(TaskName.submit, at: bench, SubmitJob(receipt, to: folder))
    }
  }
}

/// What the tasks are called.
enum TaskName {
  static let project = "Create Project"
  static let metadata = "Metadata Available"
  static let submit = "Submit Order"

  static func photo(_ number: Int) -> String { "Photo \(number) Available" }

  static func upload(_ number: Int) -> String { "Upload Photo \(number)" }

  /// All names of an order with so many photos, in the order in which the tasks are added.
  static func all(photoCount: Int) -> [String] {
    [project] + (1...photoCount).flatMap { [photo($0), upload($0)] } + [metadata, submit]
  }

  /// Whether a name is that of a condition.
  static func isCondition(_ name: String) -> Bool { name.hasSuffix(" Available") }
}
