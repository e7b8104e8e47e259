import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Inserting steps by name", .timeLimit(.minutes(30)))
struct InsertingTests {
  private let pipeline = Pipeline(Add(1).named("add")).then(Transform { "\($0)" }.named("text"))
    .then(Transform { $0 + "!" }.named("shout")).named("loud")

  @Test(arguments: [("add", "20!"), ("text", "20!"), ("shout", "11??!")])
  func inserting_before_runsTheStepThere(name: String, expected: String) async throws {
    let inserted =
      switch name {
      case "add": try pipeline.inserting(Transform { 10 * $0 - 1 }.named("new"), before: name)
      case "text": try pipeline.inserting(Transform { 10 * $0 - 10 }.named("new"), before: name)
      default: try pipeline.inserting(Transform { (text: String) in text + "1??" }.named("new"), before: name)
      }
    let index = pipeline.stepNames.firstIndex(of: name)!
    var names = pipeline.stepNames
    names.insert("new", at: index)
    #expect(inserted.stepNames == names && inserted.name == "loud")
    let result = try await inserted.run(name == "shout" ? 0 : 2)
    #expect(result == expected)
  }

  @Test func inserting_afterTheLast_runsItThere() async throws {
    let inserted = try pipeline.inserting(Transform { (text: String) in text + "?" }, after: "shout")
    #expect(try await inserted.run(1) == "2!?")
    #expect(inserted.stepNames == ["add", "text", "shout", "Transform"])
  }

  @Test func inserting_afterTheFirst_runsItThere() async throws {
    #expect(try await pipeline.inserting(Add(10), after: "add").run(1) == "12!")
  }

  @Test func inserting_ofAnotherType_throwsAndTellsTheTypes() throws {
    let error = try #require(throws: PipelineError.self) { try pipeline.inserting(Add(1), before: "shout") }
    #expect(error.code == .typeMismatch && error.stepName == "Add")
    #expect(
      error.localizedDescription
        == "The step “Add” takes Int and gives Int, so it cannot be inserted before “shout”, where String flows. Insert a "
        + "step that takes and gives String.")
    #expect(throws: PipelineError.self) {
      try pipeline.inserting(Transform { (number: Int) in "\(number)" }, after: "add")
    }
    #expect(throws: PipelineError.self) { try pipeline.inserting(Add(1), after: "shout") }
  }

  @Test func inserting_atAMissingName_throwsAndTellsTheNames() throws {
    let error = try #require(throws: PipelineError.self) { try pipeline.inserting(Add(1), after: "sing") }
    #expect(error.code == .stepNotFound && error.stepName == "sing")
    #expect(
      "\(error)"
        == "The pipeline has no step “sing”; its steps are “add”, “text”, “shout”. Name the step with named(_:), "
        + "or use one of the names in stepNames.")
    #expect(throws: error) { try pipeline.inserting(Add(1), before: "sing") }
    let none = #expect(throws: PipelineError.self) { try Pipeline(of: Int.self).inserting(Add(1), before: "x") }
    #expect(none?.code == .stepNotFound && none != error)
    #expect(none.map { "\($0)" }?.contains("it has no steps at all") == true)
  }

  @Test func inserting_atANameOfSeveral_throwsAndTellsThePlaces() throws {
    let twice = Pipeline(Add(1)).then(Add(2)).then { $0 }
    let error = try #require(throws: PipelineError.self) { try twice.inserting(Add(1), before: "Add") }
    #expect(error.code == .ambiguousStepName && error.stepName == "Add")
    #expect("\(error)".contains("2 steps “Add”, at 0, 1"))
  }
}
