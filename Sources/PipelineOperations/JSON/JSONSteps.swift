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

/// A step that decodes JSON as a type.
///
/// Malformed JSON, and no data at all, fail with a ``JSONSyntaxError``, which tells at which byte. JSON that is well-formed, but
/// not that of the type, fails with the `DecodingError` of the decoder. What that accepts beyond JSON, such as a comma after the
/// last member on Linux, is accepted here.
public struct DecodeJSON<Value: Decodable & Sendable>: PipelineStep {
  private let configure: @Sendable (JSONDecoder) -> Void

  /// Makes the step.
  ///
  /// - Parameters:
  ///   - type: what to decode.
  ///   - configure: sets the decoder up, for dates for example. Called for each run, with a new one, as part of the work.
  public init(
    _ type: Value.Type = Value.self, configure: @escaping @Sendable (_ decoder: JSONDecoder) -> Void = { _ in }
  ) {
    self.configure = configure
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for data: Data) -> SimpleOperation<Value> {
    SimpleOperation { operation in
      let decoder = JSONDecoder()
      configure(decoder)
      do {
        operation.finish(with: try decoder.decode(Value.self, from: data))
      } catch {
        operation.reject(with: mistake(in: data, decoder, error) ?? error)
      }
    }
  }

  /// What is wrong with the JSON, if it is that which is wrong.
  private func mistake(in data: Data, _ decoder: JSONDecoder, _ error: any Error) -> JSONSyntaxError? {
    // One inside of the value is the type's own complaint, of a date for example; and such a decoder takes more than JSON.
    guard case DecodingError.dataCorrupted(let context) = error, context.codingPath.isEmpty, !decoder.allowsJSON5,
      !decoder.assumesTopLevelDictionary
    else { return nil }
    return JSONParser.firstMistake(in: data)
  }
}

/// A step that encodes what flows as JSON. It fails with the `EncodingError` of the encoder.
public struct EncodeJSON<Value: Encodable & Sendable>: PipelineStep {
  private let configure: @Sendable (JSONEncoder) -> Void

  /// Makes the step.
  ///
  /// - Parameters:
  ///   - type: what to encode.
  ///   - configure: sets the encoder up, for sorted keys for example. Called for each run, with a new one, as part of the
  ///     work.
  public init(
    _ type: Value.Type = Value.self, configure: @escaping @Sendable (_ encoder: JSONEncoder) -> Void = { _ in }
  ) {
    self.configure = configure
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for value: Value) -> SimpleOperation<Data> {
    SimpleOperation { operation in
      let encoder = JSONEncoder()
      configure(encoder)
      do {
        operation.finish(with: try encoder.encode(value))
      } catch {
        operation.reject(with: error)
      }
    }
  }
}
