public import CompositeOperations
public import Foundation

/// A step that parses any JSON, for which there is no type.
///
/// No data at all is a success with nil, as a server may answer with an empty body. Malformed JSON fails with a
/// ``JSONSyntaxError``, which tells at which byte. What is accepted is JSON as RFC 8259 has it, in UTF-8, also with a
/// byte order mark, and nested up to 512 deep.
public struct ParseJSON: PipelineStep {
  /// Makes the step.
  public init() {}

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for data: Data) -> SimpleOperation<JSONValue?> {
    SimpleOperation { operation in
      do {
        operation.finish(with: data.isEmpty ? nil : try JSONParser.parse(data))
      } catch {
        operation.reject(with: error)
      }
    }
  }
}
