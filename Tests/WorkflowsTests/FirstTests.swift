import CompositeOperations
import Foundation
import Testing
import Workflows

@Suite struct FirstTests {
  @Test func readme_example() async throws {
    let order = Workflow("Order")
    let user = order.add("user") { SimpleOperation { $0.finish(with: 7) } }
    let project = order.add("project") { await Task { "p" }.value }
    let photo = order.addCondition("photo", of: Data.self)
    let upload = order.add("upload", after: project, photo) { project, photo in
      SimpleOperation<String> { $0.finish(with: project + "\(photo.count)") }
    }
    let n = order.add("n", after: user, upload) { user, upload in upload + "\(user)" }
    photo.fulfill(with: Data([1, 2]))
    try await order.run()
    #expect(upload.result == "p2")
    #expect(n.result == "p27")
  }
}
