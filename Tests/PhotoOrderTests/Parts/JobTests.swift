import ExampleSupport
import Foundation
import Testing

@testable import PhotoOrder

@Suite struct JobTests {
  private let folder: TemporaryFolder
  private let project: Project

  init() throws {
    folder = try TestPhoto.folder()
    project = Project(title: "Test", folder: folder.path + "/order")
  }

  /// Does a job to its end, and returns its result and how far it said it was after each step.
  private func run<Job: FileJob>(_ job: Job) throws -> (result: Job.Result, progress: [Double]) {
    var job = job
    var progress = [job.progress]
    while true {
      let result = try job.step()
      progress.append(job.progress)
      if let result { return (result, progress) }
    }
  }

  private func upload() throws -> UploadedPhoto {
    _ = try run(ProjectJob(title: "Test", folder: project.folder))
    return try run(UploadJob(try Photo(number: 1, path: folder.path + "/a.jpg"), to: project)).result
  }

  @Test func upload_copiesInPieces_andItsProgressOnlyGrows() throws {
    _ = try run(ProjectJob(title: "Test", folder: project.folder))
    let photo = try Photo(number: 1, path: folder.path + "/a.jpg")
    let (uploaded, progress) = try run(UploadJob(photo, to: project))
    #expect(uploaded.bytes == TestPhoto.first.count)
    #expect(uploaded.sha256 == SHA256.hex(of: TestPhoto.first))
    #expect(progress == progress.sorted() && progress.first == 0 && progress.last == 1)
    #expect(Set(progress).count > 4)
    #expect(try folder.read("order/photos/1-a.jpg") == TestPhoto.first)
  }

  /// A name of a file has 255 bytes at most, and the copy has a number before it.
  @Test(arguments: [
    (String(repeating: "a", count: 240) + ".jpg", "1-" + String(repeating: "a", count: 240) + ".jpg"),
    (String(repeating: "é", count: 125) + ".jpeg", "1-" + String(repeating: "é", count: 124) + ".jpeg"),
    ("a." + String(repeating: "b", count: 253), "1-a." + String(repeating: "b", count: 251)),
    (String(repeating: "a", count: 255), "1-" + String(repeating: "a", count: 253)),
  ])
  func upload_ofAPhotoWithALongName_copiesIt_withAShorterNameIfNeedBe(_ name: String, _ copy: String) throws {
    try folder.write(TestPhoto.second, to: name)
    _ = try run(ProjectJob(title: "Test", folder: project.folder))
    let uploaded = try run(UploadJob(try Photo(number: 1, path: folder.path + "/" + name), to: project)).result
    #expect(uploaded.file == "photos/" + copy)
    #expect(try folder.list("order/photos") == [copy])
    #expect(try folder.read("order/photos/" + copy) == TestPhoto.second)
  }

  @Test func write_toANameThatIsTooLong_saysSo() throws {
    let path = folder.path + "/" + String(repeating: "a", count: 300)
    let error = #expect(throws: FileError.self) { try OutputFile.write(Data("text".utf8), to: path) }
    #expect(error?.problem == "\(path) cannot be written: File name too long.")
    let opening = #expect(throws: FileError.self) { try OutputFile.open(path, for: path) }
    #expect(opening?.problem == "\(path) cannot be written: File name too long.")
  }

  @Test func upload_thatIsDiscarded_leavesNothing_whereverItWas() throws {
    _ = try run(ProjectJob(title: "Test", folder: project.folder))
    for steps in 0..<10 {
      var job = UploadJob(try Photo(number: 1, path: folder.path + "/a.jpg"), to: project)
      for _ in 0..<steps { #expect(try job.step() == nil) }
      job.discard()
      #expect(try folder.list("order/photos").isEmpty)
    }
  }

  @Test func upload_withoutItsFolder_isAnErrorThatNamesTheFile() throws {
    var job = UploadJob(try Photo(number: 1, path: folder.path + "/a.jpg"), to: project)
    let error = #expect(throws: FileError.self) { try job.step() }
    #expect(error?.problem.contains("/order/photos/1-a.jpg") == true)
    #expect(
      error?.problem.hasSuffix("cannot be written: No such file or directory.") == true, "\(error?.problem ?? "")")
    #expect(error?.remedy.contains("retry the task") == true)
  }

  @Test func submit_findsACopyThatWasChanged() throws {
    let receipt = Receipt(title: "Test", metadata: Metadata(paper: "matte", copies: 2), photos: [try upload()])
    try folder.write(TestPhoto.second, to: "order/photos/1-a.jpg")
    let error = #expect(throws: FileError.self) { try run(SubmitJob(receipt, to: project.folder)) }
    #expect(error?.problem == "\(project.folder)/photos/1-a.jpg was changed after it was copied.")
    #expect(error?.remedy == "Reset the task Upload Photo 1, and start it again.")
    #expect(!folder.exists("order/order.json"))
  }

  @Test func submit_findsACopyThatIsGone() throws {
    let receipt = Receipt(title: "Test", metadata: Metadata(paper: "matte", copies: 2), photos: [try upload()])
    try FileManager.default.removeItem(atPath: project.folder + "/photos/1-a.jpg")
    let error = #expect(throws: FileError.self) { try run(SubmitJob(receipt, to: project.folder)) }
    #expect(error?.problem == "\(project.folder)/photos/1-a.jpg cannot be read: No such file or directory.")
    #expect(error?.remedy == "Reset the task Upload Photo 1, and start it again.")
  }

  @Test func submit_writesTheOrder() throws {
    let receipt = Receipt(title: "Test", metadata: Metadata(paper: "matte", copies: 2), photos: [try upload()])
    let (result, progress) = try run(SubmitJob(receipt, to: project.folder))
    #expect(result == receipt)
    #expect(progress == progress.sorted() && progress.last == 1)
    #expect(try JSONDecoder().decode(Receipt.self, from: try folder.read("order/order.json")) == receipt)
  }
}
