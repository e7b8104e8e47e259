import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Results of finished tasks, carried into another process.
@Suite("4 Snapshots", .timeLimit(.minutes(30)))
struct SnapshotTests {
  struct Photo: Codable, Equatable {
    var name: String
    var bytes: Data
  }

  /// Not Codable.
  struct Connection: Sendable {
    let number: Int
  }

  /// A workflow as a program would build it at each start, with a count of how often each task ran.
  private struct Order {
    let workflow = Workflow("Order")
    let runs = EventRecorder<String>()
    let photo: WorkflowTask<Photo>
    let address: ExternalCondition<String?>
    let mark: WorkflowTask<Void>
    let connection: WorkflowTask<Connection>
    let inner = Workflow("inner")
    let innerTask: WorkflowTask<Int>
    let upload: WorkflowTask<[String]>

    init(failing: Bool = false) {
      let runs = runs
      photo = workflow.add("photo") {
        succeeding(Photo(name: "sun", bytes: Data([1, 2])), named: "photo", recorder: runs)
      }
      address = workflow.addCondition("address", of: String?.self)
      mark = workflow.add("mark") { succeeding((), named: "mark", recorder: runs) }
      connection = workflow.add("connection") { succeeding(Connection(number: 1), named: "connection", recorder: runs) }
      innerTask = inner.add("inner task") { succeeding(4, named: "inner", recorder: runs) }
      inner.addScripted("second", failing ? [.failure(TestError.first)] : [])
      _ = workflow.addSubworkflow("inner", inner)
      upload = workflow.add("upload", after: photo, address, connection, mark) { photo, address, _, _ in
        runs.record("upload")
        return failing ? failingOperation() : succeeding([photo.name, address ?? "none"])
      }
    }
  }

  @Test("A run goes on after the restored tasks, in another workflow of the same making")
  func restore_intoFreshWorkflow_goesOn() async throws {
    let first = Order(failing: true)
    first.address.fulfill(with: nil)
    #expect(await first.workflow.outcomeOfRun().word == "failure")
    let snapshot = try first.workflow.snapshot()
    #expect(snapshot.finishedTasks == ["address", "mark", "photo"])
    let file = try JSONEncoder().encode(snapshot)
    let read = try JSONDecoder().decode(WorkflowSnapshot.self, from: file)
    #expect(read == snapshot)

    let second = Order()
    #expect(try second.workflow.restore(read) == [])
    #expect(second.photo.result == Photo(name: "sun", bytes: Data([1, 2])))
    #expect(second.photo.state == .finished && second.photo.finishDate != nil && second.photo.attempt == 0)
    #expect(second.address.isFulfilled && second.innerTask.result == 4)
    #expect(second.upload.state == .pending && second.connection.state == .ready)
    try await second.workflow.run()
    #expect(second.upload.result == ["sun", "none"])
    #expect(second.runs.events.sorted() == ["connection", "upload"])
  }

  @Test("Everything finished and restored, a run has nothing to do")
  func restore_ofFinishedWorkflow_finishesAtOnce() async throws {
    let first = Workflow()
    let task = first.add("one") { succeeding(1) }
    _ = first.add("two", after: task) { succeeding($0 + 1) }
    try await first.run()
    let snapshot = try first.snapshot()
    try first.restore(snapshot)
    #expect(first.states == [.finished, .finished] && first.outcome == nil)
    try await first.run()
    #expect(first.tasks.map(\.attempt) == [1, 1])
    #expect(try first.snapshot().finishedTasks == snapshot.finishedTasks)
  }

  @Test("A restored task can be reset, and its dependents with it")
  func reset_afterRestore_runsAgain() async throws {
    let first = Order()
    first.address.fulfill(with: "home")
    try await first.workflow.run()
    let second = Order()
    try second.workflow.restore(try first.workflow.snapshot())
    #expect(second.upload.state == .finished && second.connection.state == .ready)
    second.photo.reset()
    #expect(second.upload.state == .pending)
    try await second.workflow.run()
    #expect(second.upload.result == ["sun", "home"])
  }

  @Test("A subworkflow with a result that cannot be stored runs again, before what needs it")
  func restore_withUnstorableResultInside_runsItAgain() async throws {
    struct Handle: Sendable {
      let number: Int
    }
    func make() -> (outer: Workflow, inner: Workflow, total: WorkflowTask<Int?>) {
      let inner = Workflow("inner")
      inner.add("handle") { Handle(number: 7) }
      inner.add("text") { "kept" }
      let outer = Workflow("outer")
      let task = outer.addSubworkflow("inner", inner)
      let total = outer.add("total", after: task) { inner in
        (inner.task(named: "handle") as? WorkflowTask<Handle>)?.result?.number
      }
      return (outer, inner, total)
    }
    let first = make()
    try await first.outer.run()
    first.total.reset()
    let second = make()
    #expect(try second.outer.restore(first.outer.snapshot()) == [])
    #expect(second.inner.states == [.ready, .finished] && second.outer.states == [.ready, .pending])
    try await second.outer.run()
    #expect(second.total.result == 7 && second.inner.tasks.map(\.attempt) == [1, 0])
  }

  /// An outer workflow with workflows two deep; a slash in a name is no border.
  private func nested(with second: String = "deep/er") -> (outer: Workflow, innermost: WorkflowTask<Int>) {
    let innermost = Workflow("innermost")
    let task = innermost.add("number") { 7 }
    let middle = Workflow("middle")
    middle.addSubworkflow(second, innermost)
    middle.add("text") { "kept" }
    let outer = Workflow("outer")
    outer.addSubworkflow("deep", middle)
    outer.addSubworkflow("empty", Workflow("nothing"))
    return (outer, task)
  }

  @Test("Workflows inside stand beside each other in the file, and come back as they were")
  func encode_nested_isFlat() async throws {
    let first = nested()
    try await first.outer.run()
    let snapshot = try first.outer.snapshot()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let file = try encoder.encode(snapshot)
    #expect(!String(decoding: file, as: UTF8.self).contains("\"subworkflow\":"))
    let read = try JSONDecoder().decode(WorkflowSnapshot.self, from: file)
    #expect(read == snapshot)
    let second = nested()
    #expect(try second.outer.restore(read) == [])
    #expect(second.innermost.result == 7 && second.outer.states == [.finished, .finished])
    let third = nested(with: "other")
    #expect(try third.outer.restore(read) == ["deep/deep/er", "deep/deep/er/number"])
  }

  @Test("The names in a subworkflow that there is no longer are returned, at any depth")
  func restore_withoutSubworkflow_returnsTheNamesInside() async throws {
    let first = nested()
    let unfinished = try first.outer.snapshot()
    try await first.outer.run()
    let names = ["deep", "deep/deep/er", "deep/deep/er/number", "deep/text", "empty"]
    #expect(try Workflow().restore(first.outer.snapshot()) == names)
    // Of one that has not finished, a task of the same name takes nothing.
    let second = Workflow()
    second.add("deep") { 1 }
    #expect(try second.restore(unfinished) == ["deep", "deep/deep/er", "empty"])
  }

  @Test("A finished subworkflow is not taken for the result of a task without a value")
  func restore_subworkflowThatIsNowATask_throws() async throws {
    let first = nested()
    try await first.outer.run()
    let middle = Workflow("middle")
    let task = middle.add("deep/er") {}
    let outer = Workflow("outer")
    outer.addSubworkflow("deep", middle)
    let error = #expect(throws: WorkflowSnapshotError.self) { try outer.restore(try first.outer.snapshot()) }
    #expect(error?.code == .notDecodable && error?.name == "deep/deep/er")
    #expect(error.map { "\($0)" }?.contains("it is that of a subworkflow") == true)
    #expect(task.state == .ready)
  }

  @Test("A file in which they stand inside each other, as they did before, is read")
  func decode_olderNestedFile_isRestored() throws {
    let file = """
      {"workflowName": "outer", "tasks": {
        "deep": {"isFinished": true, "finishDate": 12.5, "subworkflow": {"workflowName": "middle", "tasks": {
          "deep/er": {"isFinished": true, "subworkflow": {"workflowName": "innermost", "tasks": {
            "number": {"isFinished": true, "result": "7"}}}},
          "text": {"isFinished": true, "result": "\\"kept\\""}}}},
        "empty": {"isFinished": false, "subworkflow": {"workflowName": "nothing", "tasks": {}}}}}
      """
    let snapshot = try JSONDecoder().decode(WorkflowSnapshot.self, from: Data(file.utf8))
    #expect(snapshot.finishedTasks == ["deep"])
    let second = nested()
    #expect(try second.outer.restore(snapshot) == [])
    #expect(second.innermost.result == 7 && second.outer.states == [.finished, .ready])
    #expect(second.outer.task(named: "deep")?.finishDate == Date(timeIntervalSinceReferenceDate: 12.5))
  }

  @Test(
    "A decoder that converts keys leaves the names of tasks as they are",
    arguments: [
      #"{"workflowName": "outer", "tasks": {"charge_card": {"isFinished": true, "result": "1"}, "print_page": {"isFinished": false}}}"#,
      #"""
      {"workflowName": "outer", "tasks": {
        "charge_card": {"isFinished": true, "result": "1"},
        "print_page": {"isFinished": false, "subworkflow": {"workflowName": "inner", "tasks": {
          "fold_it": {"isFinished": true, "result": "2"}}}}}}
      """#,
      #"""
      {"workflowName": "outer", "tasks": {
        "charge_card": {"isFinished": true, "result": "1"}, "print_page": {"isFinished": false}},
      "subworkflows": [{"workflowName": "inner", "parent": 0, "task": "print_page", "tasks": {
        "fold_it": {"isFinished": true, "result": "2"}}}]}
      """#,
    ])
  func decode_withConvertedKeys_keepsNames(file: String) throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let snapshot = try decoder.decode(WorkflowSnapshot.self, from: Data(file.utf8))
    #expect(snapshot.finishedTasks == ["charge_card"])
    let inner = Workflow("inner")
    let fold = inner.add("fold_it") { 3 }
    let workflow = Workflow("outer")
    let charge = workflow.add("charge_card") { 4 }
    workflow.addSubworkflow("print_page", inner)
    let unused = try workflow.restore(snapshot)
    #expect(charge.result == 1)
    let hasInner = file.contains("inner")
    #expect(fold.result == (hasInner ? 2 : nil) && unused == (hasInner ? [] : ["print_page"]))
  }

  @Test(
    "A file whose workflows are in none that stands before, or two of them in one task, is refused",
    arguments: [
      #"[{"workflowName": "a", "parent": 1, "task": "x", "tasks": {}}]"#,
      #"[{"workflowName": "a", "parent": -1, "task": "x", "tasks": {}}]"#,
      #"[{"workflowName": "a", "task": "x", "tasks": {}}]"#,
      #"[{"workflowName": "a", "parent": 0, "task": "x", "tasks": {}}, {"workflowName": "b", "parent": 0, "task": "x", "tasks": {}}]"#,
      #"[7]"#,
    ])
  func decode_damaged_throws(list: String) {
    let file = #"{"workflowName": "outer", "tasks": {}, "subworkflows": \#(list)}"#
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(WorkflowSnapshot.self, from: Data(file.utf8))
    }
  }

  @Test("Names that no task has are returned")
  func restore_withUnknownNames_returnsThem() async throws {
    let first = Workflow()
    _ = first.add("gone") { succeeding(1) }
    _ = first.add("kept") { succeeding(2) }
    try await first.run()
    let second = Workflow()
    let kept = second.add("kept") { succeeding(3) }
    #expect(try second.restore(try first.snapshot()) == ["gone"])
    #expect(kept.result == 2)
  }

  @Test("A result of another type is refused with the task's name, and nothing is changed")
  func restore_ofWrongType_throws() async throws {
    let first = Workflow()
    _ = first.add("a") { succeeding(1) }
    _ = first.add("number") { succeeding(1) }
    try await first.run()
    let second = Workflow()
    let a = second.add("a") { succeeding(5) }
    _ = second.add("number") { succeeding(Photo(name: "", bytes: Data())) }
    let error = #expect(throws: WorkflowSnapshotError.self) { try second.restore(try first.snapshot()) }
    #expect(error?.code == .notDecodable && error?.name == "number" && "\(error!)".contains("“number”"))
    #expect(a.state == .ready)
    let third = Workflow()
    _ = third.add("number") { succeeding(Connection(number: 1)) }
    #expect(throws: WorkflowSnapshotError.self) { try third.restore(try first.snapshot()) }
  }

  /// Adds tasks, those without a name as nil, whose results are their places.
  private func make(_ names: [String?], in workflow: Workflow = Workflow()) -> Workflow {
    for (place, name) in names.enumerated() { workflow.add(name) { succeeding(place) } }
    return workflow
  }

  /// What a file holds of a workflow whose tasks have finished.
  private func file(of workflow: Workflow) async throws -> WorkflowSnapshot {
    try await workflow.run()
    return try JSONDecoder().decode(WorkflowSnapshot.self, from: JSONEncoder().encode(workflow.snapshot()))
  }

  @Test(
    "If tasks without a name were added or removed, none of them gets the result of another one",
    arguments: [
      ([nil, nil], [nil, nil, nil]), ([nil, nil], ["new", nil, nil]), ([nil, nil], [nil, "new", nil]),
      ([nil, nil], [nil]), ([nil, "a"], ["task 2", "task 1"]),
      (["task 2", "a"], ["a", nil]),
    ] as [([String?], [String?])])
  func restore_withOtherUnnamedTasks_throws(before: [String?], after: [String?]) async throws {
    let snapshot = try await file(of: make(before))
    let workflow = make(after)
    let error = #expect(throws: WorkflowSnapshotError.self) { try workflow.restore(snapshot) }
    #expect(error?.code == .notDecodable && error?.name.hasPrefix("task ") == true)
    #expect(error.map { "\($0)" }?.contains("tasks without a name were added or removed") == true)
    #expect(workflow.states.allSatisfy { $0 == .ready })

    let outer = Workflow("outer")
    outer.addSubworkflow("inner", make(before))
    let other = Workflow("outer")
    other.addSubworkflow("inner", make(after))
    let nested = try await file(of: outer)
    let nestedError = #expect(throws: WorkflowSnapshotError.self) { try other.restore(nested) }
    #expect(nestedError?.name == error.map { "inner/\($0.name)" })
  }

  @Test(
    "Tasks without a name get their results if only tasks with a name were added, removed or renamed",
    arguments: [
      ([nil, nil], [nil, nil], []), ([nil, nil], [nil, nil, "new"], []), (["a", nil], ["b", nil], ["a"]),
      ([nil, "a"], [nil], ["a"]), ([nil, nil], ["b", "c"], ["task 1", "task 2"]),
    ] as [([String?], [String?], [String])])
  func restore_withTheSameUnnamedTasks_givesResults(before: [String?], after: [String?], unused: [String]) async throws
  {
    let workflow = make(after)
    #expect(try workflow.restore(try await file(of: make(before))) == unused)
    for (place, task) in workflow.tasks.enumerated() {
      #expect((task as? WorkflowTask<Int>)?.result == (after[place] == nil ? place : nil))
    }
  }

  @Test("A subworkflow without a name does not get the results of another one")
  func restore_withOtherUnnamedSubworkflows_throws() async throws {
    let first = Workflow("outer")
    first.addSubworkflow(nil, make(["number"]))
    let second = Workflow("outer")
    for _ in 0..<2 { second.addSubworkflow(nil, make(["number"])) }
    let snapshot = try await file(of: first)
    let error = #expect(throws: WorkflowSnapshotError.self) { try second.restore(snapshot) }
    #expect(error?.name == "task 1")
  }

  @Test("Nothing can be restored into a running workflow")
  func restore_whileRunning_throws() async throws {
    let workflow = Workflow("busy")
    let held = workflow.addHeld("held")
    let snapshot = try workflow.snapshot()
    workflow.start()
    let operation = await held.attempt(1)
    let error = #expect(throws: WorkflowSnapshotError.self) { try workflow.restore(snapshot) }
    #expect(error?.code == .workflowIsRunning && "\(error!)".contains("“busy”"))
    operation.finish(with: 1)
    await workflow.untilIdle()
  }

  @Test("A result that cannot be encoded is an error that names its task")
  func snapshot_ofUnencodable_throws() async throws {
    let workflow = Workflow()
    _ = workflow.add("ratio") { succeeding(Double.infinity) }
    try await workflow.run()
    let error = #expect(throws: WorkflowSnapshotError.self) { try workflow.snapshot() }
    #expect(error?.code == .notEncodable && error?.name == "ratio" && error?.cause != nil)
  }
}

private func failingOperation() -> SimpleOperation<[String]> { failing(TestError.first, as: [String].self) }
