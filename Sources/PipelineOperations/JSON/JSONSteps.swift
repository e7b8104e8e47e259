public import CompositeOperations
public import Foundation

/// A step that parses JSON of any form.
///
/// Empty data gives nil, for a server may answer with an empty body. Malformed JSON fails with a
/// ``JSONSyntaxError``, which names the byte. The step accepts JSON as RFC 8259 defines it, in
/// UTF-8, with or without a byte order mark, and nested up to 512 levels deep.
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
/// Malformed JSON, and empty data, fail with a ``JSONSyntaxError``, which names the byte.
/// Well-formed JSON that does not fit the type fails with the `DecodingError` of the decoder. The
/// step also accepts what the decoder accepts beyond JSON, such as a comma after the last member on
/// Linux.
public struct DecodeJSON<Value: Decodable & Sendable>: PipelineStep {
  private let configure: @Sendable (JSONDecoder) -> Void

  /// Makes the step.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - configure: sets up the decoder, for dates for example. Called for each run, with a new
  ///     decoder, as part of the work.
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

  /// What is wrong with the JSON, if the JSON is wrong.
  private func mistake(in data: Data, _ decoder: JSONDecoder, _ error: any Error) -> JSONSyntaxError? {
    // Inside of the value the type itself complains, about a date for example. And these decoders
    // accept more than JSON.
    guard case DecodingError.dataCorrupted(let context) = error, context.codingPath.isEmpty, !decoder.allowsJSON5,
      !decoder.assumesTopLevelDictionary
    else { return nil }
    return JSONParser.firstMistake(in: data)
  }
}

/// A step that encodes its input as JSON. It fails with the `EncodingError` of the encoder.
public struct EncodeJSON<Value: Encodable & Sendable>: PipelineStep {
  private let configure: @Sendable (JSONEncoder) -> Void

  /// Makes the step.
  ///
  /// - Parameters:
  ///   - type: the type to encode.
  ///   - configure: sets up the encoder, for sorted keys for example. Called for each run, with a
  ///     new encoder, as part of the work.
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
