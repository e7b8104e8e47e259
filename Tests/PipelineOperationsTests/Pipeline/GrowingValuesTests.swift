import PipelineOperations
import Testing

/// A `switch` that names all values and has a `default` is one without a warning, so these would
/// not build if they were enumerations, where a new value breaks every client's `switch`.
@Suite("Codes that may grow", .timeLimit(.minutes(30))) struct GrowingValuesTests {
  @Test func pipelineErrorCodes_areSwitchedOverWithADefault() {
    let all: [PipelineError.Code] = [.typeMismatch, .stepNotFound, .ambiguousStepName]
    func word(_ value: PipelineError.Code) -> String {
      switch value {
      case .typeMismatch: "typeMismatch"
      case .stepNotFound: "stepNotFound"
      case .ambiguousStepName: "ambiguousStepName"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }

  @Test func jsonSyntaxErrorCodes_areSwitchedOverWithADefault() {
    let all: [JSONSyntaxError.Code] = [
      .unexpectedEnd, .unexpectedCharacter, .invalidNumber, .invalidString,
      .invalidEncoding, .tooDeep, .trailingContent,
    ]
    func word(_ value: JSONSyntaxError.Code) -> String {
      switch value {
      case .unexpectedEnd: "unexpectedEnd"
      case .unexpectedCharacter: "unexpectedCharacter"
      case .invalidNumber: "invalidNumber"
      case .invalidString: "invalidString"
      case .invalidEncoding: "invalidEncoding"
      case .tooDeep: "tooDeep"
      case .trailingContent: "trailingContent"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
  }
}
